package openai

import (
	"encoding/json"
	"strings"

	"github.com/eino-contrib/jsonschema"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/openai"
)

// responsesItem is an item of an answer, of any type.
type responsesItem struct {
	ID        string             `json:"id"`
	Type      string             `json:"type"`
	Status    string             `json:"status"`
	Phase     string             `json:"phase"`
	Content   []responsesContent `json:"content"`
	Summary   []responsesContent `json:"summary"`
	Encrypted string             `json:"encrypted_content"`

	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Caller    json.RawMessage `json:"caller"`
	Arguments json.RawMessage `json:"arguments"`
	Input     string          `json:"input"`
	Execution string          `json:"execution"`

	Action      json.RawMessage `json:"action"`
	Actions     json.RawMessage `json:"actions"`
	Operation   json.RawMessage `json:"operation"`
	Queries     json.RawMessage `json:"queries"`
	Results     json.RawMessage `json:"results"`
	Code        json.RawMessage `json:"code"`
	ContainerID string          `json:"container_id"`
	Outputs     json.RawMessage `json:"outputs"`

	Result        string `json:"result"`
	OutputFormat  string `json:"output_format"`
	RevisedPrompt string `json:"revised_prompt"`

	ServerLabel       string             `json:"server_label"`
	Tools             []responsesMCPTool `json:"tools"`
	Error             json.RawMessage    `json:"error"`
	Output            json.RawMessage    `json:"output"`
	ApprovalRequestID string             `json:"approval_request_id"`

	raw json.RawMessage
}

// responsesContent is a part of a message, of thinking or of its summary.
type responsesContent struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Refusal     string            `json:"refusal"`
	Annotations []json.RawMessage `json:"annotations"`
	LogProbs    json.RawMessage   `json:"logprobs"`
}

type responsesMCPTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// isWhole reports whether the server says that the item is complete. It says so of each item, also of answers that
// were cut off behind it.
func (item *responsesItem) isWhole() bool { return item.Status == "completed" }

func decodeResponsesItem(raw json.RawMessage) (*responsesItem, error) {
	item := &responsesItem{raw: raw}
	return item, kit.DecodeLenient(raw, item)
}

// text returns a JSON string as text, and other JSON as it is in one line. null is nothing.
func responsesJSONText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return kit.RawUsage(raw)
}

// blocks returns the blocks of an item. They are the blocks of a whole answer: a stream takes off what it has emitted.
func (c *responsesCall) blocks(item *responsesItem) []*schema.ContentBlock {
	var blocks []*schema.ContentBlock
	switch item.Type {
	case "message":
		blocks = responsesTextBlocks(item)
	case "reasoning":
		blocks = responsesThoughtBlocks(item)
	case "function_call":
		if isWrapper(item.Name, c.allTools()) {
			if blocks = wrappedBlocks(item, responsesJSONText(item.Arguments)); blocks != nil {
				return blocks // none of them is the item
			}
		}
		blocks = responsesFunctionBlocks(item)
	case "custom_tool_call":
		blocks = c.customBlocks(item)
	case "tool_search_call":
		blocks = c.searchBlocks(item)
	case "computer_call", "apply_patch_call", "shell_call", "local_shell_call":
		blocks = c.appBlocks(item)
	case "web_search_call", "file_search_call", "code_interpreter_call":
		blocks = responsesHostedBlocks(item)
	case "image_generation_call":
		blocks = responsesImageBlocks(item)
	case "mcp_list_tools", "mcp_call", "mcp_approval_request":
		blocks = responsesMCPBlocks(item)
	default:
		blocks = []*schema.ContentBlock{schema.NewContentBlock(&schema.ServerToolResult{
			Name: item.Type, CallID: item.ID, Content: kit.RawUsage(item.raw),
		})}
	}
	for _, b := range blocks {
		kit.SetExtra(&b.Extra, responsesItemIDKey, item.ID)
	}
	return blocks
}

func responsesTextBlocks(item *responsesItem) (blocks []*schema.ContentBlock) {
	for _, part := range item.Content {
		text := &schema.AssistantGenText{Text: part.Text}
		if part.Type == "refusal" {
			text = &schema.AssistantGenText{OpenAIExtension: &openai.AssistantGenTextExtension{
				Refusal: &openai.OutputRefusal{Reason: part.Refusal}, Annotations: []*openai.TextAnnotation{},
			}}
		}
		for _, raw := range part.Annotations {
			if text.OpenAIExtension == nil {
				text.OpenAIExtension = &openai.AssistantGenTextExtension{}
			}
			text.OpenAIExtension.Annotations = append(text.OpenAIExtension.Annotations, responsesAnnotation(raw))
		}
		b := schema.NewContentBlock(text)
		kit.SetExtra(&b.Extra, ResponsesPhaseKey, item.Phase)
		if probs := kit.RawUsage(part.LogProbs); probs != "[]" {
			kit.SetExtra(&b.Extra, ResponsesLogProbsKey, probs)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// responsesAnnotation reads an annotation. One of an unknown type has nothing but that.
func responsesAnnotation(raw json.RawMessage) *openai.TextAnnotation {
	a := new(openai.TextAnnotation)
	_ = kit.DecodeLenient(raw, &struct {
		Type *openai.TextAnnotationType `json:"type"`
	}{&a.Type})
	var into any
	switch a.Type {
	case openai.TextAnnotationTypeURLCitation:
		a.URLCitation = new(openai.TextAnnotationURLCitation)
		into = a.URLCitation
	case openai.TextAnnotationTypeFileCitation:
		a.FileCitation = new(openai.TextAnnotationFileCitation)
		into = a.FileCitation
	case openai.TextAnnotationTypeContainerFileCitation:
		a.ContainerFileCitation = new(openai.TextAnnotationContainerFileCitation)
		into = a.ContainerFileCitation
	case openai.TextAnnotationTypeFilePath:
		a.FilePath = new(openai.TextAnnotationFilePath)
		into = a.FilePath
	default:
		return a
	}
	_ = kit.DecodeLenient(raw, into) // what it has of the right type
	return a
}

// responsesSeparator stands between the parts of a summary.
const responsesSeparator = "\n\n"

func responsesThoughtBlocks(item *responsesItem) []*schema.ContentBlock {
	thought := &schema.Reasoning{Signature: item.Encrypted}
	parts := make([]string, len(item.Summary))
	for i, part := range item.Summary {
		parts[i] = part.Text
	}
	thought.Text = strings.Join(parts, responsesSeparator)
	for _, part := range item.Content {
		if thought.OpenAIExtension == nil {
			thought.OpenAIExtension = &openai.ReasoningExtension{}
		}
		thought.OpenAIExtension.Content = append(thought.OpenAIExtension.Content,
			&openai.ReasoningContent{Text: part.Text})
	}
	raw := thought.Text == "" && thought.OpenAIExtension != nil
	if raw {
		thought.Text = responsesRawThinking(thought)
	}
	b := schema.NewContentBlock(thought)
	if raw || len(parts) > 1 || len(parts) == 1 && parts[0] == "" {
		noteResponsesSummary(b, parts)
	}
	return []*schema.ContentBlock{b}
}

// responsesRawThinking returns the texts of thinking that is no summary. It is what is shown where there is none.
func responsesRawThinking(thought *schema.Reasoning) string {
	var texts []string
	for _, c := range thought.OpenAIExtension.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, responsesSeparator)
}

// noteResponsesSummary notes the parts of the summary, where the text of the block does not say them.
func noteResponsesSummary(b *schema.ContentBlock, parts []string) {
	text, _ := kit.Encode(parts) // of texts: cannot fail
	kit.SetExtra(&b.Extra, responsesSummaryKey, string(text))
}

func responsesFunctionBlocks(item *responsesItem) []*schema.ContentBlock {
	call := &schema.FunctionToolCall{CallID: item.CallID, Name: item.Name, Arguments: responsesJSONText(item.Arguments)}
	if item.isWhole() && strings.TrimSpace(call.Arguments) == "" {
		call.Arguments = "{}"
	}
	b := schema.NewContentBlock(call)
	var fields kit.Object
	fields.SetText("namespace", item.Namespace)
	if caller := kit.RawUsage(item.Caller); caller != "" {
		fields.Set("caller", json.RawMessage(caller))
	}
	if len(fields) > 0 {
		text, _ := fields.Encode() // of texts and JSON: cannot fail
		kit.SetExtra(&b.Extra, responsesCallKey, string(text))
	}
	return []*schema.ContentBlock{b}
}

// withRaw notes the item in its first block.
func (item *responsesItem) withRaw(blocks ...*schema.ContentBlock) []*schema.ContentBlock {
	kit.SetExtra(&blocks[0].Extra, responsesItemKey, kit.RawUsage(item.raw))
	return blocks
}

// call returns the item as a call that the application runs.
func (item *responsesItem) call(name, arguments string) []*schema.ContentBlock {
	id := item.CallID
	if id == "" {
		id = item.ID
	}
	return item.withRaw(schema.NewContentBlock(&schema.FunctionToolCall{CallID: id, Name: name, Arguments: arguments}))
}

// customBlocks returns a call of a custom tool: one of the application if the request offered a tool of that name.
// Others are steps of tools that the server runs, as xAI reports them.
func (c *responsesCall) customBlocks(item *responsesItem) []*schema.ContentBlock {
	if c.offers(item.Name) {
		arguments, _ := kit.Encode(kit.Object{{Key: "input", Value: item.Input}}) // of texts: cannot fail
		return item.call(item.Name, string(arguments))
	}
	call := &schema.ServerToolCall{Name: item.Name, CallID: item.ID}
	if item.Input != "" {
		call.Arguments = item.Input
	}
	return item.withRaw(schema.NewContentBlock(call))
}

// searchBlocks returns a search for tools: a call if the application searches.
func (c *responsesCall) searchBlocks(item *responsesItem) []*schema.ContentBlock {
	arguments := responsesJSONText(item.Arguments)
	if search := c.settings.ToolSearchTool; search != nil && item.Execution != "server" {
		return item.call(search.Name, arguments)
	}
	return item.withRaw(schema.NewContentBlock(&schema.ServerToolCall{
		Name: "tool_search", CallID: item.ID, Arguments: arguments,
	}))
}

// appBlocks returns a call that the application runs if it has a tool for it, and that it has to look at otherwise.
func (c *responsesCall) appBlocks(item *responsesItem) []*schema.ContentBlock {
	arguments := ""
	for _, raw := range [...]json.RawMessage{item.Action, item.Operation, item.Actions} {
		if arguments == "" {
			arguments = kit.RawUsage(raw)
		}
	}
	if len(item.Action) == 0 && len(item.Actions) > 0 {
		text, _ := kit.Encode(kit.Object{{Key: "actions", Value: item.Actions}})
		arguments = string(text)
	}
	if name := c.appTool(item.Type); name != "" {
		return item.call(name, arguments)
	}
	return item.withRaw(schema.NewContentBlock(&schema.ServerToolCall{
		Name: strings.TrimSuffix(item.Type, "_call"), CallID: item.ID, Arguments: arguments,
	}))
}

// responsesHostedBlocks returns a call that the server has run, and what it gave.
func responsesHostedBlocks(item *responsesItem) []*schema.ContentBlock {
	name := strings.TrimSuffix(item.Type, "_call")
	var arguments, result string
	switch item.Type {
	case "web_search_call":
		var action struct{ Sources json.RawMessage }
		_ = kit.DecodeLenient(item.Action, &action)
		arguments, result = kit.RawUsage(item.Action), kit.RawUsage(action.Sources)
	case "file_search_call":
		text, _ := kit.Encode(kit.Object{{Key: "queries", Value: item.Queries}})
		arguments, result = string(text), kit.RawUsage(item.Results)
	default:
		o := kit.Object{}
		if len(item.Code) > 0 {
			o.Set("code", item.Code)
		}
		o.SetText("container_id", item.ContainerID)
		text, _ := o.Encode()
		arguments, result = string(text), kit.RawUsage(item.Outputs)
	}
	call := &schema.ServerToolCall{Name: name, CallID: item.ID}
	if arguments != "" {
		call.Arguments = arguments
	}
	blocks := item.withRaw(schema.NewContentBlock(call))
	if result != "" {
		blocks = append(blocks, schema.NewContentBlock(&schema.ServerToolResult{
			Name: name, CallID: item.ID, Content: result,
		}))
	}
	return blocks
}

// responsesImageBlocks returns an image and the call that made it, which is kept without the image.
func responsesImageBlocks(item *responsesItem) []*schema.ContentBlock {
	var arguments kit.Object
	arguments.SetText("revised_prompt", item.RevisedPrompt)
	call := schema.NewContentBlock(&schema.ServerToolCall{Name: "image_generation", CallID: item.ID})
	if len(arguments) > 0 {
		text, _ := arguments.Encode() // of texts: cannot fail
		call.ServerToolCall.Arguments = string(text)
	}
	if v, err := kit.DecodeOrdered(item.raw); err == nil {
		if o, ok := v.(kit.Object); ok {
			o.Set("result", nil)
			text, _ := o.Encode()
			kit.SetExtra(&call.Extra, responsesItemKey, string(text))
		}
	}
	if item.Result == "" {
		return []*schema.ContentBlock{call}
	}
	return []*schema.ContentBlock{call, schema.NewContentBlock(&schema.AssistantGenImage{
		Base64Data: item.Result, MIMEType: responsesImageType(item.OutputFormat),
	})}
}

func responsesImageType(format string) string {
	if format == "" {
		format = "png"
	}
	return "image/" + format
}

func responsesMCPBlocks(item *responsesItem) []*schema.ContentBlock {
	switch item.Type {
	case "mcp_approval_request":
		return item.withRaw(schema.NewContentBlock(&schema.MCPToolApprovalRequest{
			ID: item.ID, Name: item.Name, Arguments: responsesJSONText(item.Arguments), ServerLabel: item.ServerLabel,
		}))
	case "mcp_list_tools":
		list := &schema.MCPListToolsResult{ServerLabel: item.ServerLabel, Error: responsesJSONText(item.Error)}
		for _, t := range item.Tools {
			tool := &schema.MCPListToolsItem{Name: t.Name, Description: t.Description}
			described := new(jsonschema.Schema)
			if len(t.InputSchema) > 0 && json.Unmarshal(t.InputSchema, described) == nil {
				tool.InputSchema = described
			}
			list.Tools = append(list.Tools, tool)
		}
		return item.withRaw(schema.NewContentBlock(list))
	}
	result := &schema.MCPToolResult{
		ServerLabel: item.ServerLabel, CallID: item.ID, Name: item.Name, Content: responsesJSONText(item.Output),
	}
	if failure := responsesJSONText(item.Error); failure != "" {
		result.Error = &schema.MCPToolCallError{Message: failure}
		_ = kit.DecodeLenient(item.Error, result.Error) // if it is an object
	}
	return item.withRaw(schema.NewContentBlock(&schema.MCPToolCall{
		ServerLabel: item.ServerLabel, ApprovalRequestID: item.ApprovalRequestID, CallID: item.ID, Name: item.Name,
		Arguments: responsesJSONText(item.Arguments),
	}), schema.NewContentBlock(result))
}
