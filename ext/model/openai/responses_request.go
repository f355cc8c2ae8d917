package openai

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// responsesRequest is a request and what reading its answer takes.
type responsesRequest struct {
	body    kit.Object
	stream  bool
	history []*schema.AgenticMessage
	// whole is the request with the whole conversation, instead of one that names a previous response. Nil if this is
	// the whole one, or if there is none.
	whole *responsesRequest
	// lost is the previous response that the server turned out not to have.
	lost        string
	unsupported *kit.Unsupported
}

const responsesReasoningInclude = "reasoning.encrypted_content"

var (
	responsesReasoningNames = regexp.MustCompile(`^(o[1-9]|gpt-([5-9]|[1-9][0-9])|gpt-oss|codex-|computer-use)`)
	responsesPlainNames     = regexp.MustCompile(`^(gpt-[34]|gpt-[5-9][0-9.]*-chat|chatgpt|davinci|babbage)`)
)

// thinks reports whether the model of the call is one that thinks.
func (c *responsesCall) thinks() bool {
	name := c.modelName()
	if c.conf.ReasoningModel != nil && name == c.conf.Model {
		return *c.conf.ReasoningModel
	}
	name = responsesBaseName(name)
	return !responsesPlainNames.MatchString(name) && (responsesReasoningNames.MatchString(name) || c.conf.Reasoning != nil)
}

// deniesThinking reports whether it is known that the model does not think: by the configuration, or by its name.
func (c *responsesCall) deniesThinking() bool {
	if c.conf.ReasoningModel != nil && c.modelName() == c.conf.Model {
		return !*c.conf.ReasoningModel
	}
	return responsesPlainNames.MatchString(responsesBaseName(c.modelName()))
}

// responsesBaseName returns the name of a model without what routers and fine-tuning put around it.
func responsesBaseName(name string) string {
	name = strings.ToLower(name)
	if tuned, ok := strings.CutPrefix(name, "ft:"); ok {
		name, _, _ = strings.Cut(tuned, ":")
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}

func (c *responsesCall) modelName() string {
	if c.settings.Model == nil {
		return c.conf.Model
	}
	return *c.settings.Model
}

// build makes the request for a conversation: the same for a stream and for a whole answer, but for the fields that say
// which.
func (c *responsesCall) build(in []*schema.AgenticMessage, stream bool) (*responsesRequest, error) {
	if c.head == "" { // or the call of a result may be with the server
		if err := kit.CheckHistory(in); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(c.conf.validateSettings(), c.conf.validateState()); err != nil {
		return nil, err
	}
	input := c.newInput()
	if err := input.add(in); err != nil {
		return nil, err
	}
	req := &responsesRequest{stream: stream, history: in, unsupported: &kit.Unsupported{Drop: c.conf.DropUnsupported}}
	from := c.anchor(in, input)
	if err := c.fill(req, input, from); err != nil {
		return nil, err
	}
	if from.previous != "" && from.previous != c.head {
		req.whole = &responsesRequest{
			stream: stream, history: in, lost: from.previous,
			unsupported: &kit.Unsupported{Drop: c.conf.DropUnsupported},
		}
		return req, c.fill(req.whole, input, responsesAnchor{previous: c.head})
	}
	return req, nil
}

// fill makes the body of a request, with the items behind an anchor.
func (c *responsesCall) fill(req *responsesRequest, input *responsesInput, from responsesAnchor) error {
	conf, common := &c.conf, c.settings.Options
	o := &req.body
	o.SetText("model", c.modelName())
	o.SetText("instructions", input.instructions())
	o.Set("input", append([]any{}, input.items[from.items:]...))
	o.SetText("previous_response_id", from.previous)
	o.SetText("conversation", conf.Conversation)
	tools, err := c.tools()
	if err != nil {
		return err
	}
	if len(tools) > 0 {
		o.Set("tools", tools)
		kit.SetPtr(o, "parallel_tool_calls", conf.ParallelToolCalls)
		kit.SetPtr(o, "max_tool_calls", conf.MaxToolCalls)
	}
	if err := c.toolChoice(o); err != nil {
		return err
	}
	kit.SetPtr(o, "max_output_tokens", common.MaxTokens)
	kit.SetPtr(o, "temperature", common.Temperature)
	kit.SetPtr(o, "top_p", common.TopP)
	if conf.TopLogProbs > 0 {
		o.Set("top_logprobs", conf.TopLogProbs)
	}
	c.setReasoning(o)
	c.setText(o)
	c.setState(o)
	if include := c.include(input.thought); len(include) > 0 {
		o.Set("include", include)
	}
	c.setRest(o)
	if req.stream {
		o.Set("stream", true)
		if conf.IncludeObfuscation != nil {
			o.Set("stream_options", kit.Object{{Key: "include_obfuscation", Value: *conf.IncludeObfuscation}})
		}
	}
	c.reject(o, req.unsupported)
	o.Merge(conf.ExtraFields)
	return req.unsupported.Err()
}

func (c *responsesCall) setReasoning(o *kit.Object) {
	r := c.conf.Reasoning
	if r == nil {
		return
	}
	var reasoning kit.Object
	reasoning.SetText("effort", r.Effort)
	reasoning.SetText("summary", r.Summary)
	reasoning.SetText("context", r.Context)
	reasoning.SetText("mode", r.Mode)
	if len(reasoning) > 0 {
		o.Set("reasoning", reasoning)
	}
}

func (c *responsesCall) setText(o *kit.Object) {
	t := c.conf.Text
	if t == nil {
		return
	}
	var text kit.Object
	if f := t.Format; f != nil {
		format := kit.Object{{Key: "type", Value: f.Type}}
		if s := f.JSONSchema; f.Type == "json_schema" {
			format.Set("name", s.Name)
			format.SetText("description", s.Description)
			format.Set("schema", s.Schema)
			format.Set("strict", s.Strict)
		}
		text.Set("format", format)
	}
	text.SetText("verbosity", t.Verbosity)
	if len(text) > 0 {
		o.Set("text", text)
	}
}

// keeps reports whether the server keeps the conversation.
func (c *responsesCall) keeps() bool { return c.conf.PreviousResponse || c.conf.Conversation != "" }

// setState says what the server is to keep: nothing, unless it is asked to.
func (c *responsesCall) setState(o *kit.Object) {
	store := c.keeps() || c.conf.Background
	if c.conf.Store != nil {
		store = *c.conf.Store
	}
	o.Set("store", store)
	if c.conf.Background {
		o.Set("background", true)
	}
}

// include returns what the server is to add to the answer. thought says that an earlier one had thinking.
func (c *responsesCall) include(thought bool) []string {
	include := slices.Clone(c.conf.Include)
	add := func(value string, wanted bool) {
		if wanted && !slices.Contains(include, value) {
			include = append(include, value)
		}
	}
	add(responsesReasoningInclude, (c.thinks() || thought) && !c.keeps())
	if c.conf.Include == nil {
		add("web_search_call.action.sources", c.hasServerTool("web_search"))
		add("file_search_call.results", c.hasServerTool("file_search"))
		add("code_interpreter_call.outputs", c.hasServerTool("code_interpreter"))
		add("message.output_text.logprobs", c.conf.TopLogProbs > 0)
	}
	return include
}

func (c *responsesCall) setRest(o *kit.Object) {
	conf := &c.conf
	o.SetText("truncation", conf.Truncation)
	o.SetText("service_tier", conf.ServiceTier)
	o.SetText("prompt_cache_key", conf.PromptCacheKey)
	if p := conf.PromptCache; p != nil {
		var options kit.Object
		options.SetText("mode", p.Mode)
		options.SetText("ttl", p.TTL)
		if len(options) > 0 {
			o.Set("prompt_cache_options", options)
		}
		input, _ := o.Get("input").([]any)
		setResponsesBreakpoints(input, p.Breakpoints)
	}
	o.SetText("prompt_cache_retention", strings.ReplaceAll(conf.PromptCacheRetention, "in-memory", "in_memory"))
	o.SetText("safety_identifier", conf.SafetyIdentifier)
	if len(conf.Metadata) > 0 {
		o.Set("metadata", conf.Metadata)
	}
	if conf.CompactThreshold > 0 {
		o.Set("context_management", []any{kit.Object{
			{Key: "type", Value: "compaction"}, {Key: "compact_threshold", Value: conf.CompactThreshold},
		}})
	}
}

// setResponsesBreakpoints marks the first system message and the latest messages of the user. Items that change are
// copied.
func setResponsesBreakpoints(input []any, n int) {
	mark := func(i int) bool {
		o, _ := input[i].(kit.Object)
		role, _ := o.Get("role").(string)
		if role == "" || role == "assistant" || n == 0 {
			return false
		}
		var parts []any
		switch content := o.Get("content").(type) {
		case string:
			parts = []any{kit.Object{{Key: "type", Value: "input_text"}, {Key: "text", Value: content}}}
		case []any:
			parts = slices.Clone(content)
		}
		if len(parts) == 0 {
			return false
		}
		last := slices.Clone(parts[len(parts)-1].(kit.Object))
		last.Set("prompt_cache_breakpoint", kit.Object{{Key: "mode", Value: "explicit"}})
		parts[len(parts)-1] = last
		marked := slices.Clone(o)
		marked.Set("content", parts)
		input[i] = marked
		n--
		return true
	}
	first := -1
	if len(input) > 0 {
		if o, _ := input[0].(kit.Object); o.Get("role") == "system" || o.Get("role") == "developer" {
			mark(0)
			first = 0
		}
	}
	for i := len(input) - 1; i > first && n > 0; i-- {
		if o, _ := input[i].(kit.Object); o.Get("role") == "user" {
			mark(i)
		}
	}
}

// reject takes out what the model is known to reject.
func (c *responsesCall) reject(o *kit.Object, u *kit.Unsupported) {
	if len(c.settings.Stop) > 0 {
		u.Refuse("stop", "the Responses API has no stop sequences: leave them out")
	}
	name := c.modelName()
	if !c.thinks() {
		if responsesPlainNames.MatchString(responsesBaseName(name)) {
			u.Reject(o, "reasoning", fmt.Sprintf("model %q does not think: leave Reasoning nil", name))
		}
		return
	}
	if c.conf.Reasoning != nil && c.conf.Reasoning.Effort == "none" {
		return
	}
	for _, field := range [...]string{"temperature", "top_p", "top_logprobs"} {
		u.Reject(o, field, fmt.Sprintf(`model %q thinks and takes no %s unless Reasoning.Effort is "none": leave it out`,
			name, field))
	}
}
