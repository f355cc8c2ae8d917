package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/weftgo/weft/ext/model/kit"
)

// validate returns everything that is wrong with the configuration.
func (c *Config) validate() error {
	return errors.Join(
		c.validateTarget(),
		c.validateKey(),
		c.validateTransport(),
		c.validateRequest(),
		c.validateExtraFields(),
		c.validateProfile(),
		c.ForeignThinking.Validate(),
		check(c.MaxTokens == nil || c.MaxCompletionTokens == nil,
			"MaxTokens and MaxCompletionTokens are both set: they mean the same, choose one"),
	)
}

func (c *Config) validateTarget() error {
	if c.Azure == nil {
		return errors.Join(
			validateURL("BaseURL", c.baseURL()),
			check(c.Model != "", "Model is required: set it to the server's name of the model, such as \"gpt-5-mini\""),
		)
	}
	return errors.Join(
		check(c.BaseURL == "", "BaseURL and Azure are both set: give the address as Azure.Endpoint"),
		validateURL("Azure.Endpoint", c.Azure.Endpoint),
		check(c.Azure.APIVersion != "", "Azure.APIVersion is required: set it to a version such as \"2024-10-21\""),
		check(c.Azure.Deployment != "" || c.Azure.DeploymentFor != nil && c.Model != "",
			"Azure.Deployment is required: set it to the name of the deployment, or set DeploymentFor and Model"),
	)
}

// validateURL does not repeat the URL, which may have a password in it.
func validateURL(name, text string) error {
	if err := kit.ValidateURL(name, text); err != nil {
		return err
	}
	u, _ := url.Parse(text) // it was parsed before
	return check(!strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/chat/completions"),
		name+" must not contain /chat/completions, which is added to it")
}

func (c *Config) validateKey() error {
	switch {
	case c.APIKey != "" && c.TokenSource != nil:
		return errors.New("APIKey and TokenSource are both set: choose one")
	case strings.ContainsFunc(c.APIKey, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return errors.New("APIKey contains white space: trim it")
	case c.APIKey == "" && c.TokenSource == nil && c.needsKey() && !c.hasOwnAuth():
		return errors.New("APIKey is required: set it, or TokenSource, or BaseURL to a server that needs none")
	}
	return nil
}

// needsKey reports whether the server takes no requests without a key.
func (c *Config) needsKey() bool {
	p := c.profile()
	return p.isOfficial()
}

func (c *Config) validateProfile() error {
	p := c.Profile
	if p == nil {
		return nil
	}
	known := func(name string, ok bool) error {
		return check(ok, "Profile."+name+" is unknown: use one of its constants")
	}
	return errors.Join(
		known("StreamUsage", p.StreamUsage == StreamUsageOption || p.StreamUsage == StreamUsageNever),
		known("Reasoning", slices.Contains([]ReasoningRule{ReasoningOwn, ReasoningNever, ReasoningRequired}, p.Reasoning)),
		known("Knob", slices.Contains([]ThinkingKnob{KnobEffort, KnobThinkingType, KnobThinkingOnly, KnobEnableThinking,
			KnobReasoningObject, KnobTemplate, KnobNone}, p.Knob)),
		known("ToolCallID", slices.Contains([]ToolCallIDRule{ToolCallIDAny, ToolCallIDMax40, ToolCallIDMistral9}, p.ToolCallID)),
		known("EmptyContent", slices.Contains([]EmptyContent{EmptyContentOmit, EmptyContentNull, EmptyContentText,
			EmptyContentSpace}, p.EmptyContent)),
		known("MaxTokensField", p.MaxTokensField == MaxTokensFieldMaxTokens ||
			p.MaxTokensField == MaxTokensFieldMaxCompletionTokens),
	)
}

// hasOwnAuth reports whether the headers authenticate the requests.
func (c *Config) hasOwnAuth() bool {
	for name := range c.Headers {
		if strings.EqualFold(name, "Authorization") || strings.EqualFold(name, azureKeyHeader) {
			return true
		}
	}
	return false
}

func (c *Config) validateTransport() error {
	return errors.Join(
		check(c.Timeout >= 0, "Timeout must not be negative: use 0 for none"),
		check(c.IdleTimeout == nil || *c.IdleTimeout >= 0,
			"IdleTimeout must not be negative: use 0 for none"),
		check(c.MaxRetries == nil || *c.MaxRetries >= 0, "MaxRetries must not be negative: use 0 for none"),
	)
}

// validateRequest checks what options of a call can change, too.
func (c *Config) validateRequest() error {
	errs := []error{
		check(c.MaxTokens == nil || *c.MaxTokens > 0, "MaxTokens must be positive: leave it nil for no limit"),
		check(c.TopLogProbs >= 0, "TopLogProbs must not be negative"),
		check(c.LogProbs || c.TopLogProbs == 0, "TopLogProbs needs LogProbs to be true"),
		c.ResponseFormat.validate(),
	}
	switch c.MaxTokensField {
	case "", MaxTokensFieldMaxTokens, MaxTokensFieldMaxCompletionTokens:
	default:
		errs = append(errs, fmt.Errorf("MaxTokensField is %q: use one of its constants", c.MaxTokensField))
	}
	switch c.ToolResultMedia {
	case ToolResultMediaInUserMessage, ToolResultMediaInline:
	default:
		errs = append(errs, fmt.Errorf("ToolResultMedia is %q: use one of its constants", c.ToolResultMedia))
	}
	switch c.ReasoningReplay {
	case ReasoningReplayAuto, ReasoningReplayNever, ReasoningReplayAsReasoning, ReasoningReplayAsReasoningContent:
	default:
		errs = append(errs, fmt.Errorf("ReasoningReplay is %q: use one of its constants", c.ReasoningReplay))
	}
	return errors.Join(errs...)
}

func (c *Config) validateExtraFields() error {
	if _, err := json.Marshal(c.ExtraFields); err != nil {
		return fmt.Errorf("ExtraFields cannot be sent as JSON: %w", err)
	}
	return nil
}

func check(ok bool, text string) error { return kit.Check(ok, text) }
