package openai

import (
	"net/url"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

const azureKeyHeader = "api-key"

// limits says how much of what a response may have.
var limits = kit.Limits{
	{Name: "choices", Max: 1024},
	{Name: "tool_calls", Max: maxToolCalls},
	{Name: "images", Max: 1024},
	{Name: "reasoning_details", Max: 50_000},
	{Name: "annotations", Max: 50_000},
	{Name: "thinking", Max: 50_000},
	{Name: "content", Max: 500_000}, // parts, and the tokens of log probabilities
	{Name: "top_logprobs", Max: maxLogProbs},
	{Name: "bytes", Max: 16_000_000}, // of the tokens
}

const (
	// maxToolCalls is the number of tools that an answer may call, and maxPieces how many pieces of calls and of media it
	// may have.
	maxToolCalls = 4096
	maxPieces    = 1_000_000
	// maxLogProbs limits the log probabilities of an answer, alternatives included.
	maxLogProbs = 3_000_000
)

// baseURL returns the address of the server, without the deployment of Azure's older API.
func (c *Config) baseURL() string {
	switch {
	case c.Azure != nil:
		return strings.TrimSuffix(c.Azure.Endpoint, "/")
	case c.BaseURL == "":
		return DefaultBaseURL
	}
	return c.BaseURL
}

// path returns where requests for a model go, below baseURL.
func (c *Config) path(model string) string {
	if c.Azure == nil {
		return "chat/completions"
	}
	return "openai/deployments/" + url.PathEscape(c.Azure.deployment(model)) + "/chat/completions"
}

// profile returns the dialect of the server.
func (c *Config) profile() Profile {
	switch {
	case c.Profile != nil:
		return *c.Profile
	case c.Azure != nil:
		return ProfileAzure
	}
	return ProfileFor(c.baseURL())
}

// client returns the settings of the HTTP client. The environment has no say in them: a key that is meant for OpenAI
// must not reach another server by accident.
func (c *Config) client() kit.ClientConfig {
	conf := kit.ClientConfig{
		Provider: "openai", BaseURL: c.baseURL(), HTTPClient: c.HTTPClient,
		Headers: kit.Merged(c.organization(), c.Headers), QueryParams: c.QueryParams,
		Refreshes: c.TokenSource != nil, Secrets: []string{c.APIKey},
		Timeout: c.Timeout, IdleTimeout: c.IdleTimeout, MaxRetries: c.MaxRetries, Lists: limits,
	}
	conf.Authorize = kit.Bearer(c.APIKey, c.TokenSource)
	if c.Azure != nil {
		conf.QueryParams = kit.Merged(map[string]string{"api-version": c.Azure.APIVersion}, c.QueryParams)
		if c.TokenSource == nil {
			conf.Authorize = kit.KeyHeader(azureKeyHeader, "", c.APIKey, nil)
		}
	}
	return conf
}

func (c *Config) organization() map[string]string {
	headers := map[string]string{}
	if c.Organization != "" {
		headers["OpenAI-Organization"] = c.Organization
	}
	if c.Project != "" {
		headers["OpenAI-Project"] = c.Project
	}
	return headers
}
