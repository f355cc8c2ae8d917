package gemini

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Keys of the Extra of blocks.
const (
	// signatureKey holds the signature of a text, a call or a medium: a proof of the thinking before it, for the server
	// that gave it.
	signatureKey = "gemini_signature"
	// partKey holds a part as it came, in JSON, for blocks that say less than the part does.
	partKey = "gemini_part"
	// madeUpKey says that the server gave the call no ID.
	madeUpKey = "gemini_made_up_id"
)

const signatureField = "thoughtSignature"

// GetThoughtSignatureFromExtra returns the signature in the Extra of a block or a tool call, in base64.
func GetThoughtSignatureFromExtra(extra map[string]any) (string, bool) {
	signature := kit.ExtraText(extra, signatureKey)
	return signature, signature != ""
}

// wirePart is a piece of an answer, as far as answers mostly have it. Everything else is found by [wirePart.kind].
type wirePart struct {
	Text             string    `json:"text"`
	Thought          bool      `json:"thought"`
	ThoughtSignature string    `json:"thoughtSignature"`
	FunctionCall     *wireCall `json:"functionCall"`
	InlineData       *wireBlob `json:"inlineData"`
	FileData         *wireFile `json:"fileData"`
}

type wireCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	// PartialArgs and WillContinue are set if the request asked for arguments in pieces.
	PartialArgs  json.RawMessage `json:"partialArgs"`
	WillContinue bool            `json:"willContinue"`
}

type wireBlob struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

type wireFile struct {
	MIMEType string `json:"mimeType"`
	FileURI  string `json:"fileUri"`
}

// A rawPart gives the JSON of a part when it is needed.
type rawPart func() json.RawMessage

// block returns the block for a part, nil for one that says nothing.
func (p *wirePart) block(raw rawPart) *schema.ContentBlock {
	switch {
	case p.FunctionCall != nil:
		return p.callBlock()
	case p.InlineData != nil && !p.Thought:
		return p.mediumBlock("", p.InlineData.Data, p.InlineData.MIMEType, raw)
	case p.FileData != nil && !p.Thought:
		return p.mediumBlock(p.FileData.FileURI, "", p.FileData.MIMEType, raw)
	case p.Text != "" && p.Thought:
		return schema.NewContentBlock(&schema.Reasoning{Text: p.Text, Signature: p.ThoughtSignature})
	case p.Text != "":
		return p.signed(schema.NewContentBlock(&schema.AssistantGenText{Text: p.Text}))
	}
	return p.otherBlock(raw())
}

func (p *wirePart) signed(b *schema.ContentBlock) *schema.ContentBlock {
	kit.SetExtra(&b.Extra, signatureKey, p.ThoughtSignature)
	return b
}

func (p *wirePart) callBlock() *schema.ContentBlock {
	f := p.FunctionCall
	b := p.signed(schema.NewContentBlock(&schema.FunctionToolCall{CallID: f.ID, Name: f.Name, Arguments: oneLine(f.Args)}))
	if f.ID == "" {
		b.FunctionToolCall.CallID = kit.NewCallID()
		kit.SetExtra(&b.Extra, madeUpKey, "true")
	}
	return b
}

// oneLine returns JSON without white space around its values, "{}" for none.
func oneLine(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || string(raw) == "null" || json.Compact(&b, raw) != nil {
		return "{}"
	}
	return b.String()
}

func (p *wirePart) mediumBlock(address, data, mime string, raw rawPart) *schema.ContentBlock {
	kind, _, _ := strings.Cut(mime, "/")
	switch kind {
	case "image":
		return p.signed(schema.NewContentBlock(&schema.AssistantGenImage{URL: address, Base64Data: data, MIMEType: mime}))
	case "audio":
		return p.signed(schema.NewContentBlock(&schema.AssistantGenAudio{URL: address, Base64Data: data, MIMEType: mime}))
	case "video":
		return p.signed(schema.NewContentBlock(&schema.AssistantGenVideo{URL: address, Base64Data: data, MIMEType: mime}))
	}
	return p.otherBlock(raw())
}

// CodeExecutionName is the name of the server tool that runs code.
const CodeExecutionName = "code_execution"

// thoughtName is the name of the blocks that hold thinking which is no text, such as the drafts of an image.
const thoughtName = "thought"

// otherBlock returns the block for a part of which only some fields are understood, or none: what a tool of the server
// was asked, what it gave, or something new. Its arguments or content are the JSON of the part's value, and the part
// itself stays as it is.
func (p *wirePart) otherBlock(raw json.RawMessage) *schema.ContentBlock {
	key, value := kindOf(raw)
	if key == "" || key == "text" {
		switch {
		case p.ThoughtSignature == "":
			return nil
		case p.Thought:
			return schema.NewContentBlock(&schema.Reasoning{Signature: p.ThoughtSignature})
		}
		return p.signed(schema.NewContentBlock(&schema.AssistantGenText{}))
	}
	var of struct {
		ID       string          `json:"id"`
		ToolType string          `json:"toolType"`
		Args     json.RawMessage `json:"args"`
		Response json.RawMessage `json:"response"`
	}
	_ = kit.DecodeLenient(value, &of) // an unknown value may be anything
	call := &schema.ServerToolCall{Name: strings.ToLower(of.ToolType), CallID: of.ID, Arguments: oneLine(of.Args)}
	result := &schema.ServerToolResult{Name: key, CallID: of.ID, Content: oneLine(value)}
	var b *schema.ContentBlock
	switch key {
	case "executableCode":
		call.Name, call.Arguments = CodeExecutionName, oneLine(value)
		b = schema.NewContentBlock(call)
	case "codeExecutionResult":
		result.Name = CodeExecutionName
		b = schema.NewContentBlock(result)
	case "toolCall":
		b = schema.NewContentBlock(call)
	case "toolResponse":
		result.Name, result.Content = call.Name, oneLine(of.Response)
		b = schema.NewContentBlock(result)
	default:
		if p.Thought {
			result.Name = thoughtName
		}
		b = schema.NewContentBlock(result)
	}
	kit.SetExtra(&b.Extra, partKey, oneLine(raw))
	return b
}

// aboutPart are the fields of a part that say something about its content.
var aboutPart = map[string]bool{
	"thought": true, signatureField: true, "videoMetadata": true, "mediaResolution": true, "partMetadata": true,
	"mediaProcessing": true, "speechMetadata": true,
}

// kindOf returns the field of a part that is its content, "" if there is none.
func kindOf(raw json.RawMessage) (key string, value json.RawMessage) {
	decoded, err := kit.DecodeOrdered(raw)
	fields, ok := decoded.(kit.Object)
	if err != nil || !ok {
		return "", nil
	}
	for _, f := range fields {
		if f.Value == nil || aboutPart[f.Key] {
			continue
		}
		text, err := kit.Encode(f.Value)
		if err != nil {
			return "", nil
		}
		if key = f.Key; key != "text" {
			return key, text
		}
		value = text
	}
	return key, value
}

// ExecutableCode is code that the model had the server run.
type ExecutableCode struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Code     string `json:"code"`
}

// CodeExecutionResult is the result of running the code: "OUTCOME_OK" and its output, or an error.
type CodeExecutionResult struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
	Output  string `json:"output"`
}

// GetExecutableCode returns the code in a block of an answer.
func GetExecutableCode(b *schema.ContentBlock) (code ExecutableCode, ok bool) {
	if b == nil || b.ServerToolCall == nil || b.ServerToolCall.Name != CodeExecutionName {
		return code, false
	}
	text, _ := b.ServerToolCall.Arguments.(string)
	return code, kit.DecodeLenient([]byte(text), &code) == nil
}

// GetCodeExecutionResult returns what running the code gave, out of a block of an answer.
func GetCodeExecutionResult(b *schema.ContentBlock) (r CodeExecutionResult, ok bool) {
	if b == nil || b.ServerToolResult == nil || b.ServerToolResult.Name != CodeExecutionName {
		return r, false
	}
	text, _ := b.ServerToolResult.Content.(string)
	return r, kit.DecodeLenient([]byte(text), &r) == nil
}
