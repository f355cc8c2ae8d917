package rewrite

import (
	"path"
	"strings"
)

const (
	einoModule = "github.com/cloudwego/eino"
	extModule  = "github.com/cloudwego/eino-ext"
	weftModule = "github.com/weftgo/weft"
	shimModule = weftModule + "/compat/eino"

	// jinjaModule has the engine of Jinja2 templates: a program imports it for its effect.
	jinjaModule = weftModule + "/ext/jinja"
)

// einoPackages are the packages of Eino that Weft has, by their path in the module.
var einoPackages = strings.Fields(`
	adk adk/filesystem adk/middlewares/agentsmd adk/middlewares/dynamictool/toolsearch adk/middlewares/filesystem
	adk/middlewares/patchtoolcalls adk/middlewares/plantask adk/middlewares/reduction adk/middlewares/skill
	adk/middlewares/summarization adk/prebuilt/deep adk/prebuilt/planexecute adk/prebuilt/supervisor adk/turnloop
	callbacks components components/document components/document/parser components/embedding components/indexer
	components/model components/prompt components/retriever components/tool components/tool/utils compose flow/agent
	flow/agent/multiagent/host flow/agent/react flow/indexer/parent flow/retriever/multiquery flow/retriever/parent
	flow/retriever/router flow/retriever/utils schema schema/claude schema/gemini schema/openai utils/callbacks`)

// A counterpart is a module of Weft that takes the place of an extension module.
type counterpart struct {
	module string // path of the module, of one package
	name   string // name of the package
	differ string // what has to be changed by hand
}

const compatible = "is openai.Config with a BaseURL: set it, it chooses the dialect (docs/providers-compatible.md); " +
	"options of its own have other names"

// counterparts has Weft's modules by the path of the extension module in eino-ext.
var counterparts = map[string]counterpart{
	"components/model/openai": {weftModule + "/ext/model/openai", "openai",
		"ByAzure, APIVersion and AzureModelMapperFunc are Azure{…}; WithExtraHeader is WithExtraHeaders; " +
			"WithRequestPayloadModifier is WithRequestModifier; User is a string; JSONSchema of a response format is " +
			"Schema; formats and voices of audio are strings; BindTools and BindForcedTools are WithTools and " +
			"model.WithToolChoice"},
	"components/model/agenticopenai": {weftModule + "/ext/model/openai", "openai",
		"EnableAutoCache is PreviousResponse; CustomHeaders is Headers; Timeout is no pointer"},
	"components/model/claude": {weftModule + "/ext/model/anthropic", "anthropic",
		"BaseURL is no pointer; ByBedrock and ByVertex are Backend; Thinking is BudgetThinking(n); " +
			"AdditionalHeaderFields is Headers"},
	"components/model/agenticclaude": {weftModule + "/ext/model/anthropic", "anthropic",
		"New is NewAgenticModel; BaseURL is no pointer; ServerToolConfig is ServerTools; ByBedrock and ByVertex are Backend"},
	"components/model/gemini": {weftModule + "/ext/model/gemini", "gemini",
		"Client is Backend: genaiclient.Backend(client), or APIKey; types of genai are types of the module"},
	"components/model/agenticgemini": {weftModule + "/ext/model/gemini", "gemini",
		"Client is Backend: genaiclient.Backend(client), or APIKey; ServerToolConfig is ServerTools; New is NewAgenticModel"},
	"components/model/ollama": {weftModule + "/ext/model/ollama", "ollama",
		"types of Ollama's API are types of the module; Options is a value with pointers inside"},
	"components/model/deepseek":   {weftModule + "/ext/model/openai", "openai", compatible},
	"components/model/qwen":       {weftModule + "/ext/model/openai", "openai", compatible},
	"components/model/ark":        {weftModule + "/ext/model/openai", "openai", compatible},
	"components/model/openrouter": {weftModule + "/ext/model/openai", "openai", compatible},
	"components/embedding/openai": {weftModule + "/ext/embedding/openai", "openai", ""},
	"components/embedding/gemini": {weftModule + "/ext/embedding/gemini", "gemini", "Client is APIKey or TokenSource"},
	"components/embedding/ollama": {weftModule + "/ext/embedding/ollama", "ollama", ""},
}

// A fate is what happens to an import.
type fate int

const (
	foreign  fate = iota // it is not of Eino
	moved                // it has a new path
	kept                 // a package of an extension module without counterpart
	unknown              // a package of Eino's that Weft does not have
	replaced             // a package of an extension module that a module of Weft's replaces
)

// target returns the path and the package name that an import gets, and its fate. A name is only there if it differs from
// the one that the package had. keepExt has all extension modules stay.
func target(importPath string, keepExt bool) (newPath, name string, f fate) {
	if rel, ok := strings.CutPrefix(importPath, extModule+"/"); ok {
		c, ok := counterparts[rel]
		switch {
		case !ok || keepExt:
			return importPath, "", kept
		case c.name != path.Base(rel):
			return c.module, path.Base(rel), replaced
		}
		return c.module, "", replaced
	}
	rel, ok := strings.CutPrefix(importPath, einoModule+"/")
	if !ok && importPath != einoModule {
		return importPath, "", foreign
	}
	for _, p := range einoPackages {
		if p == rel {
			return weftModule + "/" + rel, "", moved
		}
	}
	return importPath, "", unknown
}
