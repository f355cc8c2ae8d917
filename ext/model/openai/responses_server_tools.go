package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/weftgo/weft/ext/model/kit"
)

// A ServerTool is a tool that OpenAI runs, or one that it has trained its models for. Make it with one of the functions
// of this package. Printing it shows no secrets.
type ServerTool struct {
	raw     json.RawMessage // an object
	secrets []string
	err     error
}

// RawServerTool makes a server tool of the JSON object that is sent for it, for tools that this package does not know.
func RawServerTool(tool json.RawMessage) ServerTool {
	var head struct{ Type string }
	if err := json.Unmarshal(tool, &head); err != nil {
		return ServerTool{err: fmt.Errorf("a server tool is a JSON object: %w", err)}
	}
	t := ServerTool{raw: slices.Clone(tool)}
	if head.Type == "" {
		t.err = errors.New(`a server tool needs a "type"`)
	}
	return t
}

func newResponsesServerTool(o kit.Object) ServerTool {
	raw, err := o.Encode()
	return ServerTool{raw: raw, err: err}
}

// WebSearchParams configures [WebSearch]. Each field may be empty.
type WebSearchParams struct {
	// AllowedDomains limits the search to these domains and those below them.
	AllowedDomains []string
	// SearchContextSize is "low", "medium" or "high".
	SearchContextSize string
	// City, Region, Country (two letters) and Timezone say where the user is.
	City, Region, Country, Timezone string
}

// WebSearch lets the model search the web.
func WebSearch(p WebSearchParams) ServerTool {
	o := kit.Object{{Key: "type", Value: "web_search"}}
	if len(p.AllowedDomains) > 0 {
		o.Set("filters", kit.Object{{Key: "allowed_domains", Value: p.AllowedDomains}})
	}
	o.SetText("search_context_size", p.SearchContextSize)
	location := kit.Object{{Key: "type", Value: "approximate"}}
	location.SetText("city", p.City)
	location.SetText("region", p.Region)
	location.SetText("country", p.Country)
	location.SetText("timezone", p.Timezone)
	if len(location) > 1 {
		o.Set("user_location", location)
	}
	return newResponsesServerTool(o)
}

// FileSearchParams configures [FileSearch].
type FileSearchParams struct {
	// VectorStoreIDs are the stores to search. Required.
	VectorStoreIDs []string
	// MaxNumResults, up to 50, limits the results. 0 leaves it to the server.
	MaxNumResults int
	// Filters and RankingOptions are sent as they are.
	Filters, RankingOptions map[string]any
}

// FileSearch lets the model search files that were uploaded into vector stores.
func FileSearch(p FileSearchParams) ServerTool {
	o := kit.Object{{Key: "type", Value: "file_search"}, {Key: "vector_store_ids", Value: p.VectorStoreIDs}}
	if p.MaxNumResults > 0 {
		o.Set("max_num_results", p.MaxNumResults)
	}
	if p.Filters != nil {
		o.Set("filters", p.Filters)
	}
	if p.RankingOptions != nil {
		o.Set("ranking_options", p.RankingOptions)
	}
	t := newResponsesServerTool(o)
	if len(p.VectorStoreIDs) == 0 {
		t.err = errors.New("FileSearch needs VectorStoreIDs")
	}
	return t
}

// CodeInterpreterParams configures [CodeInterpreter]. Each field may be empty.
type CodeInterpreterParams struct {
	// Container is the ID of a container. Empty for one that the server makes.
	Container string
	// FileIDs and MemoryLimit ("1g", "4g", …) are for a container that the server makes.
	FileIDs     []string
	MemoryLimit string
}

// CodeInterpreter lets the model run Python.
func CodeInterpreter(p CodeInterpreterParams) ServerTool {
	var container any = p.Container
	if p.Container == "" {
		auto := kit.Object{{Key: "type", Value: "auto"}}
		if len(p.FileIDs) > 0 {
			auto.Set("file_ids", p.FileIDs)
		}
		auto.SetText("memory_limit", p.MemoryLimit)
		container = auto
	}
	return newResponsesServerTool(kit.Object{
		{Key: "type", Value: "code_interpreter"}, {Key: "container", Value: container},
	})
}

// MCPParams configures [MCP].
type MCPParams struct {
	// ServerLabel names the server in calls. Required.
	ServerLabel string
	// ServerURL is the address of the server, or ConnectorID one that OpenAI has. One of them is required.
	ServerURL, ConnectorID string
	// ServerDescription says to the model what the server is for.
	ServerDescription string
	// Authorization is a token for the server, and Headers are what else it wants. OpenAI does not keep them, so they are
	// sent with every request. Errors do not show them.
	Authorization string
	Headers       map[string]string
	// AllowedTools limits the tools. Nil for all.
	AllowedTools []string
	// RequireApproval is "always", "never", or an object that says it for each tool. Nil leaves it to the server, which
	// asks always.
	RequireApproval any
}

// MCP lets the model call the tools of an MCP server, to which OpenAI talks.
func MCP(p MCPParams) ServerTool {
	o := kit.Object{{Key: "type", Value: "mcp"}, {Key: "server_label", Value: p.ServerLabel}}
	o.SetText("server_url", p.ServerURL)
	o.SetText("connector_id", p.ConnectorID)
	o.SetText("server_description", p.ServerDescription)
	o.SetText("authorization", p.Authorization)
	if len(p.Headers) > 0 {
		o.Set("headers", p.Headers)
	}
	if p.AllowedTools != nil {
		o.Set("allowed_tools", p.AllowedTools)
	}
	o.Set("require_approval", p.RequireApproval)
	t := newResponsesServerTool(o)
	t.secrets = append(kit.Credentials(p.Headers), p.Authorization)
	if p.ServerLabel == "" || (p.ServerURL == "") == (p.ConnectorID == "") {
		t.err = errors.New("MCP needs ServerLabel and either ServerURL or ConnectorID")
	}
	return t
}

// ImageGenerationParams configures [ImageGeneration]. Each field may be empty.
type ImageGenerationParams struct {
	// Model makes the images.
	Model string
	// Size is for example "1024x1024"; Quality "low", "medium" or "high"; Background "transparent" or "opaque".
	Size, Quality, Background string
	// OutputFormat is "png", "webp" or "jpeg".
	OutputFormat string
	// PartialImages, up to 3, asks for images before they are finished; see [WithResponsesPartialImages].
	PartialImages int
}

// ImageGeneration lets the model make images.
func ImageGeneration(p ImageGenerationParams) ServerTool {
	o := kit.Object{{Key: "type", Value: "image_generation"}}
	o.SetText("model", p.Model)
	o.SetText("size", p.Size)
	o.SetText("quality", p.Quality)
	o.SetText("background", p.Background)
	o.SetText("output_format", p.OutputFormat)
	if p.PartialImages > 0 {
		o.Set("partial_images", p.PartialImages)
	}
	return newResponsesServerTool(o)
}

// ComputerUseParams configures [ComputerUse]. Without a display it is the tool of newer models, which need none.
type ComputerUseParams struct {
	DisplayWidth, DisplayHeight int
	// Environment is "browser", "mac", "windows" or "ubuntu".
	Environment string
}

// ComputerUse lets the model use a computer, which the application operates: a tool named "computer" gets its actions
// as JSON, and returns a screenshot.
func ComputerUse(p ComputerUseParams) ServerTool {
	if p == (ComputerUseParams{}) {
		return newResponsesServerTool(kit.Object{{Key: "type", Value: "computer"}})
	}
	return newResponsesServerTool(kit.Object{
		{Key: "type", Value: "computer_use_preview"}, {Key: "display_width", Value: p.DisplayWidth},
		{Key: "display_height", Value: p.DisplayHeight}, {Key: "environment", Value: p.Environment},
	})
}

// Shell lets the model run commands. In a container of the server it is run there; otherwise the application runs it:
// a tool named "shell" gets the commands as JSON.
func Shell(environment map[string]any) ServerTool {
	o := kit.Object{{Key: "type", Value: "shell"}}
	if environment != nil {
		o.Set("environment", environment)
	}
	return newResponsesServerTool(o)
}

// ApplyPatch lets the model change files, which the application does: a tool named "apply_patch" gets the changes as
// JSON.
func ApplyPatch() ServerTool {
	return newResponsesServerTool(kit.Object{{Key: "type", Value: "apply_patch"}})
}

// ToolSearch lets the server search the deferred tools of a call. It is there whenever a call has some, unless the
// application searches them itself.
func ToolSearch() ServerTool {
	return newResponsesServerTool(kit.Object{{Key: "type", Value: "tool_search"}})
}

// name returns the type of the tool.
func (t ServerTool) name() string {
	var head struct{ Type string }
	_ = json.Unmarshal(t.raw, &head)
	return head.Type
}

func (t ServerTool) validate() error {
	if t.err == nil && len(t.raw) == 0 {
		return errors.New("it is the zero ServerTool: make it with one of the functions of the package")
	}
	return t.err
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (t ServerTool) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "openai.ServerTool{%s}", t.name()) }

// LogValue implements [slog.LogValuer] without secrets.
func (t ServerTool) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(t)) }

func responsesSecrets(tools []ServerTool) (secrets []string) {
	for _, t := range tools {
		secrets = append(secrets, t.secrets...)
	}
	return secrets
}
