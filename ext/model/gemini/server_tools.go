package gemini

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftgo/weft/ext/model/kit"
)

// A ServerTool is a tool that Google runs, or one that it knows and the application runs (computer use).
type ServerTool struct {
	name string
	raw  json.RawMessage
	err  error
}

// String returns the name of the tool.
func (t ServerTool) String() string { return t.name }

// GoogleSearch searches the web.
func GoogleSearch() ServerTool { return serverTool("googleSearch", kit.Object{}) }

// GoogleSearchRetrieval searches the web, for models before Gemini 2.
func GoogleSearchRetrieval() ServerTool { return serverTool("googleSearchRetrieval", kit.Object{}) }

// EnterpriseWebSearch searches the web on Vertex, under other terms.
func EnterpriseWebSearch() ServerTool { return serverTool("enterpriseWebSearch", kit.Object{}) }

// CodeExecution runs Python that the model writes.
func CodeExecution() ServerTool { return serverTool("codeExecution", kit.Object{}) }

// URLContext reads pages whose addresses are in the conversation.
func URLContext() ServerTool { return serverTool("urlContext", kit.Object{}) }

// GoogleMaps searches places.
func GoogleMaps() ServerTool { return serverTool("googleMaps", kit.Object{}) }

// FileSearch searches files that were put into stores.
type FileSearch struct {
	FileSearchStoreNames []string
	TopK                 *int32
	MetadataFilter       string
}

// Tool returns the tool.
func (f FileSearch) Tool() ServerTool {
	var o kit.Object
	o.Set("fileSearchStoreNames", f.FileSearchStoreNames)
	kit.SetPtr(&o, "topK", f.TopK)
	o.SetText("metadataFilter", f.MetadataFilter)
	return serverTool("fileSearch", o)
}

// ComputerUse has the model operate a screen. What it wants to do comes as calls of functions that Google has defined,
// such as click_at: tools of these names in the application run them.
type ComputerUse struct {
	// Environment is for example "ENVIRONMENT_BROWSER".
	Environment                 string
	ExcludedPredefinedFunctions []string
}

// Tool returns the tool.
func (u ComputerUse) Tool() ServerTool {
	var o kit.Object
	o.SetText("environment", u.Environment)
	if len(u.ExcludedPredefinedFunctions) > 0 {
		o.Set("excludedPredefinedFunctions", u.ExcludedPredefinedFunctions)
	}
	return serverTool("computerUse", o)
}

// RawServerTool is a tool as the API documents it, an object with one field: {"googleSearch":{"…":…}}.
func RawServerTool(raw json.RawMessage) ServerTool {
	decoded, err := kit.DecodeOrdered(raw)
	o, ok := decoded.(kit.Object)
	switch {
	case err != nil:
		return ServerTool{err: fmt.Errorf("the server tool is no JSON: %w", err)}
	case !ok || len(o) != 1:
		return ServerTool{err: errors.New("a server tool must be a JSON object with one field, which names it")}
	case o[0].Key == "functionDeclarations":
		return ServerTool{err: errors.New("functions are no server tools: use model.WithTools")}
	}
	return ServerTool{name: o[0].Key, raw: raw}
}

func serverTool(name string, settings kit.Object) ServerTool {
	raw, err := kit.Object{{Key: name, Value: settings}}.Encode()
	return ServerTool{name: name, raw: raw, err: err}
}

// serverTools returns the tools of the Enable fields and the others, each once.
func (c *Config) serverTools() (all []ServerTool) {
	seen := map[string]bool{}
	add := func(enabled bool, t ServerTool) {
		if enabled && (t.err != nil || !seen[t.name]) {
			seen[t.name] = true
			all = append(all, t)
		}
	}
	for _, t := range c.ServerTools {
		add(true, t)
	}
	add(c.EnableCodeExecution, CodeExecution())
	add(c.EnableGoogleSearch, GoogleSearch())
	add(c.EnableGoogleSearchRetrieval, GoogleSearchRetrieval())
	add(c.EnableURLContext, URLContext())
	add(c.EnableGoogleMaps, GoogleMaps())
	if c.EnableComputerUse != nil {
		add(true, c.EnableComputerUse.Tool())
	}
	if c.EnableFileSearch != nil {
		add(true, c.EnableFileSearch.Tool())
	}
	return all
}

// onlyOn says which of the services has a tool, for those that are not on both.
var onlyOn = map[string]string{
	"fileSearch": SystemGemini, "mcpServers": SystemGemini,
	"enterpriseWebSearch": SystemVertex, "retrieval": SystemVertex, "parallelAiSearch": SystemVertex,
	"exaAiSearch": SystemVertex,
}

// available leaves out the tools that the service does not have, which is an error if the call does not allow that.
func (c *call) available(tools []ServerTool) (kept []ServerTool) {
	for _, t := range tools {
		if only := onlyOn[t.name]; only != "" && only != c.e.info.System {
			c.unsupported.Refuse("server tool "+t.name, "only "+only+" has it: leave it out")
			continue
		}
		kept = append(kept, t)
	}
	return kept
}
