package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftgo/weft/ext/model/kit"
)

// A ServerTool is a tool that Anthropic runs, such as web search, or one that it defines and the application runs, such
// as bash: the model calls the latter as any other tool of its name, which the application must offer, too.
type ServerTool struct {
	raw        json.RawMessage
	name, kind string
	err        error
}

// RawServerTool is a tool by its definition in JSON, for any version that the API knows.
func RawServerTool(definition json.RawMessage) ServerTool {
	var t struct{ Name, Type string }
	if err := json.Unmarshal(definition, &t); err != nil {
		return ServerTool{err: fmt.Errorf("the definition is no JSON object: %w", err)}
	}
	if t.Type == "" || t.Name == "" && !isToolset(t.Type) {
		return ServerTool{err: errors.New("the definition must have a type and a name")}
	}
	return ServerTool{raw: definition, name: t.Name, kind: t.Type}
}

// isToolset reports whether a type is a set of tools, which has no name of its own.
func isToolset(kind string) bool { return kind == "mcp_toolset" }

// NewServerTool is a tool of a type, such as "bash_20250124", under the name that the API demands for it, with further
// fields in the order of their names.
func NewServerTool(kind, name string, fields map[string]any) ServerTool {
	o := kit.Object{{Key: "type", Value: kind}, {Key: "name", Value: name}}
	o.Merge(fields)
	raw, err := o.Encode()
	if err != nil {
		return ServerTool{err: err}
	}
	return RawServerTool(raw)
}

// WebSearch searches the web and cites what it finds.
type WebSearch struct {
	// Type is the version. Default "web_search_20250305".
	Type string
	// MaxUses limits the searches of one answer.
	MaxUses int
	// AllowedDomains are searched only, or BlockedDomains not.
	AllowedDomains, BlockedDomains []string
	// City, Region, Country (two letters) and Timezone say where the user is.
	City, Region, Country, Timezone string
}

// Tool returns the tool.
func (w WebSearch) Tool() ServerTool {
	fields := limits(w.MaxUses, w.AllowedDomains, w.BlockedDomains)
	place := kit.Object{{Key: "type", Value: "approximate"}}
	place.SetText("city", w.City)
	place.SetText("region", w.Region)
	place.SetText("country", w.Country)
	place.SetText("timezone", w.Timezone)
	if len(place) > 1 {
		fields["user_location"] = place
	}
	return NewServerTool(or(w.Type, "web_search_20250305"), "web_search", fields)
}

// WebFetch reads pages and documents that the conversation names.
type WebFetch struct {
	// Type is the version. Default "web_fetch_20250910", for which Config.Betas needs "web-fetch-2025-09-10".
	Type string
	// MaxUses limits the pages of one answer.
	MaxUses int
	// AllowedDomains are fetched from only, or BlockedDomains not.
	AllowedDomains, BlockedDomains []string
	// Citations has the model cite the pages.
	Citations bool
	// MaxContentTokens limits what of a page the model gets.
	MaxContentTokens int
}

// Tool returns the tool.
func (w WebFetch) Tool() ServerTool {
	fields := limits(w.MaxUses, w.AllowedDomains, w.BlockedDomains)
	if w.Citations {
		fields["citations"] = kit.Object{{Key: "enabled", Value: true}}
	}
	if w.MaxContentTokens > 0 {
		fields["max_content_tokens"] = w.MaxContentTokens
	}
	return NewServerTool(or(w.Type, "web_fetch_20250910"), "web_fetch", fields)
}

func limits(maxUses int, allowed, blocked []string) map[string]any {
	fields := map[string]any{}
	if maxUses > 0 {
		fields["max_uses"] = maxUses
	}
	if len(allowed) > 0 {
		fields["allowed_domains"] = allowed
	}
	if len(blocked) > 0 {
		fields["blocked_domains"] = blocked
	}
	return fields
}

// CodeExecution runs code in a container of Anthropic's.
func CodeExecution() ServerTool {
	return NewServerTool("code_execution_20250825", "code_execution", nil)
}

// ToolSearch has Anthropic search the tools that are loaded later (model.WithDeferredTools): by words ("bm25") or by
// regular expressions ("regex").
func ToolSearch(algorithm string) ServerTool {
	if algorithm != "bm25" && algorithm != "regex" {
		return ServerTool{err: fmt.Errorf(`the algorithm of the tool search is %q: use "bm25" or "regex"`, algorithm)}
	}
	name := "tool_search_tool_" + algorithm
	return NewServerTool(name+"_20251119", name, nil)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
