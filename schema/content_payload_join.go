package schema

import (
	"errors"
	"fmt"
)

// payloadJoin joins the payloads of the chunks of one block.
type payloadJoin interface {
	// add takes the payload of b. It returns errNoPayload itself if there is none.
	add(b *ContentBlock) error
	// put sets the joined payload in b.
	put(b *ContentBlock) error
}

var errNoPayload = errors.New("content is nil")

// newPayloadJoin returns the join for blocks of a type, or nil if there is no such type.
func newPayloadJoin(t ContentBlockType) payloadJoin {
	switch t {
	case ContentBlockTypeReasoning:
		return &payload[Reasoning]{
			field:   func(b *ContentBlock) **Reasoning { return &b.Reasoning },
			join:    &reasoningJoin{},
			rebuild: true,
		}
	case ContentBlockTypeUserInputText:
		return once(func(b *ContentBlock) **UserInputText { return &b.UserInputText }, "user input texts")
	case ContentBlockTypeUserInputImage:
		return once(func(b *ContentBlock) **UserInputImage { return &b.UserInputImage }, "user input images")
	case ContentBlockTypeUserInputAudio:
		return once(func(b *ContentBlock) **UserInputAudio { return &b.UserInputAudio }, "user input audios")
	case ContentBlockTypeUserInputVideo:
		return once(func(b *ContentBlock) **UserInputVideo { return &b.UserInputVideo }, "user input videos")
	case ContentBlockTypeUserInputFile:
		return once(func(b *ContentBlock) **UserInputFile { return &b.UserInputFile }, "user input files")
	case ContentBlockTypeAssistantGenText:
		return joined(func(b *ContentBlock) **AssistantGenText { return &b.AssistantGenText }, &genTextJoin{})
	case ContentBlockTypeAssistantGenImage:
		return joined(
			func(b *ContentBlock) **AssistantGenImage { return &b.AssistantGenImage },
			&genMediaJoin[AssistantGenImage]{kind: "image"},
		)
	case ContentBlockTypeAssistantGenAudio:
		return joined(
			func(b *ContentBlock) **AssistantGenAudio { return &b.AssistantGenAudio },
			&genMediaJoin[AssistantGenAudio]{kind: "audio"},
		)
	case ContentBlockTypeAssistantGenVideo:
		return joined(
			func(b *ContentBlock) **AssistantGenVideo { return &b.AssistantGenVideo },
			&genMediaJoin[AssistantGenVideo]{kind: "video"},
		)
	case ContentBlockTypeFunctionToolCall:
		return joined(func(b *ContentBlock) **FunctionToolCall { return &b.FunctionToolCall }, &functionCallJoin{})
	case ContentBlockTypeFunctionToolResult:
		return joined(
			func(b *ContentBlock) **FunctionToolResult { return &b.FunctionToolResult },
			&functionResultJoin{},
		)
	case ContentBlockTypeToolSearchResult:
		return once(
			func(b *ContentBlock) **ToolSearchFunctionToolResult { return &b.ToolSearchFunctionToolResult },
			"tool search results",
		)
	case ContentBlockTypeServerToolCall:
		return joined(func(b *ContentBlock) **ServerToolCall { return &b.ServerToolCall }, &serverCallJoin{})
	case ContentBlockTypeServerToolResult:
		return joined(func(b *ContentBlock) **ServerToolResult { return &b.ServerToolResult }, &serverResultJoin{})
	case ContentBlockTypeMCPToolCall:
		return joined(func(b *ContentBlock) **MCPToolCall { return &b.MCPToolCall }, &mcpCallJoin{})
	case ContentBlockTypeMCPToolResult:
		return joined(func(b *ContentBlock) **MCPToolResult { return &b.MCPToolResult }, &mcpResultJoin{})
	case ContentBlockTypeMCPListToolsResult:
		return joined(func(b *ContentBlock) **MCPListToolsResult { return &b.MCPListToolsResult }, &mcpListJoin{})
	case ContentBlockTypeMCPToolApprovalRequest:
		return joined(
			func(b *ContentBlock) **MCPToolApprovalRequest { return &b.MCPToolApprovalRequest },
			&approvalRequestJoin{},
		)
	case ContentBlockTypeMCPToolApprovalResponse:
		return once(
			func(b *ContentBlock) **MCPToolApprovalResponse { return &b.MCPToolApprovalResponse },
			"mcp tool approval responses",
		)
	}
	return nil
}

// joiner joins payloads of one kind.
type joiner[P any] interface {
	add(p *P) error
	result() (*P, error)
}

// payload is the payloadJoin of payloads P, which are found in a field of the block.
type payload[P any] struct {
	field   func(*ContentBlock) **P
	join    joiner[P]
	rebuild bool // also if there is only one chunk, whose payload is otherwise taken as it is
	first   *P
	chunks  int
}

func (j *payload[P]) add(b *ContentBlock) error {
	p := *j.field(b)
	if p == nil {
		return errNoPayload
	}
	j.chunks++
	if j.chunks == 1 {
		j.first = p
	}
	return j.join.add(p)
}

func (j *payload[P]) put(b *ContentBlock) error {
	if j.chunks == 1 && !j.rebuild {
		*j.field(b) = j.first
		return nil
	}
	var err error
	*j.field(b), err = j.join.result()
	return err
}

func joined[P any](field func(*ContentBlock) **P, join joiner[P]) payloadJoin {
	return &payload[P]{field: field, join: join}
}

// once is the join of payloads that cannot be streamed.
func once[P any](field func(*ContentBlock) **P, plural string) payloadJoin {
	return joined[P](field, &onceJoin[P]{plural: plural})
}

type onceJoin[P any] struct {
	plural string
	only   *P
}

func (j *onceJoin[P]) add(p *P) error {
	if j.only != nil {
		return fmt.Errorf("cannot concat multiple %s", j.plural)
	}
	j.only = p
	return nil
}

func (j *onceJoin[P]) result() (*P, error) { return j.only, nil }

// claim is the value that one chunk gives to a field that must have one value over all chunks.
type claim struct {
	field *string // the value so far
	value string
	what  string // the field's name in errors
}

// agree notes claims of a chunk of the kind given. The first that contradicts an earlier one is an error.
func agree(kind string, claims ...claim) error {
	for _, c := range claims {
		if !single(c.field, c.value) {
			return fmt.Errorf("expected %s '%s' for %s, but got '%s'", c.what, *c.field, kind, c.value)
		}
	}
	return nil
}
