package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// result returns the result of a call.
func (a *contents) result(b *schema.ContentBlock) (result, error) {
	r := b.FunctionToolResult
	call := a.calls[a.ids.Result(r.CallID)]
	if call == nil {
		return result{}, fmt.Errorf("the result of tool call %q has no call before it", r.CallID)
	}
	var texts []string
	var inside, outside []any
	for _, p := range r.Content {
		switch {
		case p == nil:
		case p.Text != nil:
			texts = append(texts, p.Text.Text)
		default:
			part, err := a.mediaPart(resultMedium(p))
			if err != nil {
				return result{}, fmt.Errorf("result of tool call %q: %s: %w", r.CallID, p.Type, err)
			}
			if a.takesInside(part) {
				inside = append(inside, named(part, kit.ExtraText(p.Extra, displayNameKey)))
			} else {
				outside = append(outside, part)
			}
		}
	}
	if len(outside) > 0 {
		line := fmt.Sprintf("Media in the result of tool %s (call %s):", call.name, r.CallID)
		outside = append([]any{textPart(line)}, outside...)
	}
	var f kit.Object
	f.SetText("id", call.id)
	f.Set("name", call.name)
	f.Set("response", response(strings.Join(texts, "\n"), kit.IsError(b.Extra)))
	if len(inside) > 0 {
		f.Set("parts", inside)
	}
	part := kit.Object{{Key: "functionResponse", Value: f}}
	return result{place: call.place, part: part, media: outside}, nil
}

// response returns the object that the service wants for a text.
func response(text string, failed bool) any {
	trimmed := strings.TrimSpace(text)
	switch {
	case failed:
		return kit.Object{{Key: "error", Value: text}}
	case strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)):
		return json.RawMessage(trimmed)
	}
	return kit.Object{{Key: "result", Value: text}}
}

// resultMedium returns a medium in a result as a block.
func resultMedium(p *schema.FunctionToolResultContentBlock) *schema.ContentBlock {
	b := &schema.ContentBlock{
		UserInputImage: p.Image, UserInputAudio: p.Audio, UserInputVideo: p.Video, UserInputFile: p.File, Extra: p.Extra,
	}
	return b
}

// insideTypes are the types of media that Gemini 3 takes inside of a result.
// https://ai.google.dev/gemini-api/docs/function-calling#multimodal
var insideTypes = []string{"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}

// takesInside reports whether a medium may stand inside of a result; otherwise it is sent behind.
func (a *contents) takesInside(part kit.Object) bool {
	if versionOf(a.c.model).major < 3 || len(part) != 1 {
		return false
	}
	data, _ := part[0].Value.(kit.Object)
	mime, _ := data.Get("mimeType").(string)
	return (part[0].Key == "inlineData" || a.c.e.vertex()) && slices.Contains(insideTypes, mime)
}

// named gives a medium the name by which the result can refer to it.
func named(part kit.Object, name string) kit.Object {
	if data, ok := part[0].Value.(kit.Object); ok && name != "" {
		data.Set("displayName", name)
		part[0].Value = data
	}
	return part
}
