package compose

import (
	"fmt"
	"strings"

	"github.com/weftgo/weft/schema"
)

// ToolCallOutput is the result of a call of a tool of any kind. The field for the kind of the tool is set: Text of an
// invokable one, TextStream of a streamable one, Result and ResultStream of the enhanced ones.
//
// What a [ToolCallMiddleware] returns may be in another form than what the tool gives: it is converted. So a refusal is
// a Text, whatever the tool is, and a stream may be replaced by a value. Of several fields that are set one counts, in
// the order ResultStream, Result, TextStream, Text.
type ToolCallOutput struct {
	Text         string
	TextStream   *schema.StreamReader[string]
	Result       *schema.ToolResult
	ResultStream *schema.StreamReader[*schema.ToolResult]
}

// Streams reports whether the result comes as a stream, which may still fail and whose reader closes it.
func (o *ToolCallOutput) Streams() bool {
	return o.ResultStream != nil || o.Result == nil && o.TextStream != nil
}

// Join reads a stream to its end and has the result as a value: Result instead of ResultStream, Text instead of
// TextStream. It does nothing if there is no stream. On an error the stream is closed, too.
func (o *ToolCallOutput) Join() (err error) {
	switch {
	case o.ResultStream != nil:
		s := o.ResultStream
		o.ResultStream = nil
		o.Result, err = joinToolStream(s, &schema.ToolResult{})
	case o.Result == nil && o.TextStream != nil:
		s := o.TextStream
		o.TextStream = nil
		o.Text, err = joinToolStream(s, "")
	}
	return err
}

// MapText changes every text of the result by f: the text, or the text parts of a result. The other parts stay. Of a
// stream f gets chunk after chunk, as they come; after [ToolCallOutput.Join] it gets the whole. What the tool returned
// is not changed.
func (o *ToolCallOutput) MapText(f func(text string) string) {
	switch {
	case o.ResultStream != nil:
		o.ResultStream = schema.StreamReaderWithConvert(o.ResultStream,
			func(chunk *schema.ToolResult) (*schema.ToolResult, error) {
				return mapParts(chunk, f), nil
			})
	case o.Result != nil:
		o.Result = mapParts(o.Result, f)
	case o.TextStream != nil:
		o.TextStream = schema.StreamReaderWithConvert(o.TextStream,
			func(chunk string) (string, error) { return f(chunk), nil })
	default:
		o.Text = f(o.Text)
	}
}

func mapParts(r *schema.ToolResult, f func(text string) string) *schema.ToolResult {
	if r == nil {
		return nil
	}
	mapped := *r
	mapped.Parts = make([]schema.ToolOutputPart, len(r.Parts))
	for i, p := range r.Parts {
		if p.Type == schema.ToolPartTypeText {
			p.Text = f(p.Text)
		}
		mapped.Parts[i] = p
	}
	return &mapped
}

// AsText returns the result as a text: a stream is read to its end, text parts are put together. Other parts are an
// error, for they would be lost.
func (o *ToolCallOutput) AsText() (string, error) {
	if err := o.Join(); err != nil {
		return "", err
	}
	if o.Result != nil {
		return textOfParts(o.Result)
	}
	return o.Text, nil
}

// AsResult returns the result as parts: a stream is read to its end, a text is one part. It is nil if there is nothing.
func (o *ToolCallOutput) AsResult() (*schema.ToolResult, error) {
	if err := o.Join(); err != nil {
		return nil, err
	}
	if o.Result != nil || o.Text == "" {
		return o.Result, nil
	}
	return partsOfText(o.Text), nil
}

// AsTextStream returns the result as a stream of texts; a value is one chunk. Parts that are no text are an error in
// the stream.
func (o *ToolCallOutput) AsTextStream() *schema.StreamReader[string] {
	switch {
	case o.ResultStream != nil:
		return schema.StreamReaderWithConvert(o.ResultStream, textOfParts)
	case o.Result != nil:
		return schema.StreamReaderWithConvert(singleOf(o.Result), textOfParts)
	case o.TextStream != nil:
		return o.TextStream
	}
	return singleOf(o.Text)
}

// AsResultStream returns the result as a stream of parts; a value is one chunk.
func (o *ToolCallOutput) AsResultStream() *schema.StreamReader[*schema.ToolResult] {
	switch {
	case o.ResultStream != nil:
		return o.ResultStream
	case o.Result != nil:
		return singleOf(o.Result)
	case o.TextStream != nil:
		return schema.StreamReaderWithConvert(o.TextStream, func(text string) (*schema.ToolResult, error) {
			return partsOfText(text), nil
		})
	}
	return singleOf(partsOfText(o.Text))
}

// Close closes a stream that will not be read.
func (o *ToolCallOutput) Close() {
	if o == nil {
		return
	}
	if o.TextStream != nil {
		o.TextStream.Close()
	}
	if o.ResultStream != nil {
		o.ResultStream.Close()
	}
}

func partsOfText(text string) *schema.ToolResult {
	if text == "" {
		return &schema.ToolResult{}
	}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

func textOfParts(r *schema.ToolResult) (string, error) {
	if r == nil {
		return "", nil
	}
	var text strings.Builder
	for _, p := range r.Parts {
		if p.Type != schema.ToolPartTypeText {
			return "", fmt.Errorf("the result has a part of type %s, but is needed as text: "+
				"a middleware must not add such parts to the result of a tool that gives text", p.Type)
		}
		text.WriteString(p.Text)
	}
	return text.String(), nil
}
