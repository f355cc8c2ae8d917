package openai

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Keys of the Extra of blocks, and of tool messages and their parts.
const (
	// FileIDKey, in the Extra of an image or a file for the model, has the ID of a file that was uploaded to OpenAI. It is
	// sent instead of the content.
	FileIDKey = "openai_file_id"
	// SafetyChecksKey, in the Extra of the result of a computer action, has the safety checks that a human has
	// acknowledged, as a JSON list.
	SafetyChecksKey = "openai_acknowledged_safety_checks"
)

// responsesIDRule matches the IDs of calls that the server accepts.
var responsesIDRule = kit.IDRule{Max: 64}

// responsesInput makes the input of a request of a conversation.
type responsesInput struct {
	call     *responsesCall
	thinks   bool // the model takes thinking back
	thought  bool // an answer of the server in the conversation has thinking
	system   string
	ids      *kit.CallIDs
	items    []any
	starts   []int             // of the items of each message
	seen     map[string]bool   // IDs of items
	skipped  map[string]int    // calls that were there already, whose results are left out, by ID
	kinds    map[string]string // the type of the latest call, by ID
	leading  *schema.AgenticMessage
	messages int
}

func (c *responsesCall) newInput() *responsesInput {
	thinks := c.thinks()
	b := &responsesInput{
		call: c, thinks: thinks, system: "system", ids: kit.NewCallIDs(responsesIDRule),
		seen: map[string]bool{}, skipped: map[string]int{}, kinds: map[string]string{},
	}
	if thinks {
		b.system = "developer"
	}
	return b
}

// add appends the items of messages that the server may see.
func (b *responsesInput) add(in []*schema.AgenticMessage) error {
	filter := kit.Filter{
		Kinship: b.call.engine.kinship, Thinking: b.call.conf.ForeignThinking, Opaque: responsesOpaqueKeys,
	}
	all := filter.Blocks(in)
	b.thought = !b.call.deniesThinking() && slices.ContainsFunc(all, hasThinking)
	b.thinks = b.thinks || b.thought
	for i, m := range all {
		b.starts = append(b.starts, len(b.items))
		if err := b.message(m); err != nil {
			return &kit.HistoryError{Index: i, Reason: err.Error()}
		}
	}
	b.starts = append(b.starts, len(b.items))
	return nil
}

// hasThinking reports whether an answer has thinking, which has already been removed from other servers' answers. A
// server that thinks takes it back, whatever the model is called.
func hasThinking(m *schema.AgenticMessage) bool {
	return m.Role == schema.AgenticRoleTypeAssistant && slices.ContainsFunc(m.ContentBlocks, func(b *schema.ContentBlock) bool {
		return b != nil && b.Reasoning != nil
	})
}

func (e *responsesEngine) kinship(o kit.Origin) kit.Kinship {
	if o == e.origin {
		return kit.Own
	}
	return kit.Foreign
}

func (b *responsesInput) message(m *schema.AgenticMessage) error {
	b.messages++
	switch m.Role {
	case schema.AgenticRoleTypeAssistant:
		return b.assistant(m)
	case schema.AgenticRoleTypeSystem:
		if b.messages == 1 && b.call.conf.SystemAsInstructions {
			b.leading = m
			return nil
		}
		return b.user(m, b.system)
	}
	return b.user(m, "user")
}

// instructions returns the text of the leading system message, if that is sent apart.
func (b *responsesInput) instructions() string {
	if b.leading == nil {
		return ""
	}
	text, _ := responsesPlainText(b.leading.ContentBlocks)
	return text
}

// responsesPlainText returns the text of blocks that are nothing else.
func responsesPlainText(blocks []*schema.ContentBlock) (string, bool) {
	var texts []string
	for _, block := range blocks {
		switch {
		case block == nil:
		case block.UserInputText == nil || len(block.Extra) > 0:
			return "", false
		default:
			texts = append(texts, block.UserInputText.Text)
		}
	}
	return strings.Join(texts, "\n\n"), true
}

// user appends what is said to the model. Results are items of their own.
func (b *responsesInput) user(m *schema.AgenticMessage, role string) error {
	if text, ok := responsesPlainText(m.ContentBlocks); ok && role != "user" {
		b.items = append(b.items, kit.Object{{Key: "role", Value: role}, {Key: "content", Value: text}})
		return nil
	}
	var content []any
	flush := func() {
		if len(content) > 0 {
			b.items = append(b.items, kit.Object{{Key: "role", Value: role}, {Key: "content", Value: content}})
			content = nil
		}
	}
	for i, block := range m.ContentBlocks {
		if block == nil {
			continue
		}
		item, err := b.result(block)
		if err == nil && item == nil {
			var part kit.Object
			if part, err = responsesPart(block); part != nil {
				content = append(content, part)
			}
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		if item != nil {
			flush()
			b.items = append(b.items, item...)
		}
	}
	flush()
	return nil
}

// responsesPart returns a part of what is said to the model.
func responsesPart(block *schema.ContentBlock) (kit.Object, error) {
	var o kit.Object
	var err error
	switch {
	case block.UserInputText != nil:
		o = kit.Object{{Key: "type", Value: "input_text"}, {Key: "text", Value: block.UserInputText.Text}}
	case block.UserInputImage != nil:
		o, err = responsesImagePart(block.UserInputImage, block.Extra)
	case block.UserInputFile != nil:
		o, err = responsesFilePart(block.UserInputFile, block.Extra)
	case block.UserInputAudio != nil, block.UserInputVideo != nil:
		err = fmt.Errorf("the Responses API takes no %s: leave it out, or use another model", block.Type)
	default:
		err = fmt.Errorf("a block of type %q is not for the model: leave it out", block.Type)
	}
	if err != nil {
		return nil, err
	}
	fields, _ := block.Extra[ExtraFieldsKey].(map[string]any)
	o.Merge(fields)
	return o, nil
}

func responsesImagePart(image *schema.UserInputImage, extra map[string]any) (kit.Object, error) {
	o := kit.Object{{Key: "type", Value: "input_image"}}
	if id := kit.ExtraText(extra, FileIDKey); id != "" {
		o.Set("file_id", id)
	} else {
		media, err := kit.NewMedia(image.URL, image.Base64Data, image.MIMEType)
		if err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
		o.Set("image_url", media.DataURL())
	}
	detail := image.Detail
	if detail == "" {
		detail = schema.ImageURLDetailAuto
	}
	o.Set("detail", string(detail))
	return o, nil
}

func responsesFilePart(file *schema.UserInputFile, extra map[string]any) (kit.Object, error) {
	o := kit.Object{{Key: "type", Value: "input_file"}}
	if id := kit.ExtraText(extra, FileIDKey); id != "" {
		o.Set("file_id", id)
		return o, nil
	}
	media, err := kit.NewMedia(file.URL, file.Base64Data, file.MIMEType)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	o.SetText("filename", file.Name)
	if media.URL != "" {
		o.Set("filename", nil) // the address has one
		o.Set("file_url", media.URL)
		return o, nil
	}
	if file.Name == "" {
		o.Set("filename", "file")
	}
	o.Set("file_data", media.DataURL())
	return o, nil
}

// result returns the items of a block that answers a call or a question of the server, nil if it is none.
func (b *responsesInput) result(block *schema.ContentBlock) ([]any, error) {
	switch {
	case block.FunctionToolResult != nil:
		return b.output(block, block.FunctionToolResult.CallID)
	case block.ToolSearchFunctionToolResult != nil:
		return b.output(block, block.ToolSearchFunctionToolResult.CallID)
	case block.MCPToolApprovalResponse != nil:
		answer := block.MCPToolApprovalResponse
		o := kit.Object{
			{Key: "type", Value: "mcp_approval_response"}, {Key: "approval_request_id", Value: answer.ApprovalRequestID},
			{Key: "approve", Value: answer.Approve},
		}
		o.SetText("reason", answer.Reason)
		return []any{o}, nil
	}
	return nil, nil
}

func (b *responsesInput) output(block *schema.ContentBlock, id string) ([]any, error) {
	if b.skipped[id] > 0 {
		b.skipped[id]--
		return []any{}, nil
	}
	callID := b.ids.Result(id)
	o := kit.Object{{Key: "type", Value: "function_call_output"}, {Key: "call_id", Value: callID}}
	var err error
	switch kind := b.kinds[id]; kind {
	case "tool_search_call":
		err = fillResponsesSearch(&o, block)
	case "computer_call":
		err = fillResponsesComputer(&o, block)
	case "apply_patch_call", "shell_call", "local_shell_call":
		fillResponsesCommand(&o, kind, block)
	default:
		if kind == "custom_tool_call" {
			o.Set("type", "custom_tool_call_output")
		}
		var output any
		output, err = responsesOutput(block)
		o.Set("output", output)
	}
	if err != nil {
		return nil, err
	}
	fields, _ := block.Extra[ExtraFieldsKey].(map[string]any)
	o.Merge(fields)
	return []any{o}, nil
}

// responsesOutput returns the result of a function: a text, or parts if there are media among it.
func responsesOutput(block *schema.ContentBlock) (any, error) {
	if text, ok := responsesResultText(block); ok {
		return text, nil
	}
	parts := []any{}
	for _, p := range block.FunctionToolResult.Content {
		if p == nil {
			continue
		}
		part, err := responsesPart(&schema.ContentBlock{
			Type: schema.ContentBlockType(p.Type), UserInputText: p.Text, UserInputImage: p.Image, UserInputAudio: p.Audio,
			UserInputVideo: p.Video, UserInputFile: p.File, Extra: p.Extra,
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// responsesResultText returns the text of a result that is nothing else.
func responsesResultText(block *schema.ContentBlock) (string, bool) {
	if search := block.ToolSearchFunctionToolResult; search != nil {
		return search.Result.String(), true
	}
	var texts []string
	for _, p := range block.FunctionToolResult.Content {
		switch {
		case p == nil:
		case p.Text == nil:
			return strings.Join(texts, "\n"), false
		default:
			texts = append(texts, p.Text.Text)
		}
	}
	return strings.Join(texts, "\n"), true
}
