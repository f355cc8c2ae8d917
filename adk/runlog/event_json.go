package runlog

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weftgo/weft/internal/json"
)

// MarshalJSON encodes the event as one object in one line. Token is hexadecimal text, spans are decimal text: such
// numbers may be beyond what JavaScript can hold.
func (e Event) MarshalJSON() ([]byte, error) {
	const fixed = 256 // what most events have beside their text
	return e.AppendJSON(make([]byte, 0, fixed))
}

// AppendJSON appends what MarshalJSON returns, for callers that write many events. The pieces of answers, which most events
// are, are written without looking at their types.
func (e *Event) AppendJSON(b []byte) ([]byte, error) {
	b = strconv.AppendInt(append(b, `{"v":`...), int64(e.V), 10)
	b = appendMember(b, `,"run":`, e.Run)
	b = strconv.AppendUint(append(b, `,"seq":`...), e.Seq, 10)
	if e.From != 0 {
		b = strconv.AppendUint(append(b, `,"from":`...), e.From, 10)
	}
	if e.Token != 0 {
		b = append(strconv.AppendUint(append(b, `,"token":"`...), e.Token, 16), '"')
	}
	b = strconv.AppendInt(append(b, `,"t":`...), e.T, 10)
	b = appendMember(b, `,"type":`, string(e.Type))
	b = append(strconv.AppendUint(append(b, `,"span":"`...), uint64(e.Span), 10), '"')
	if e.Span != 0 {
		b = append(strconv.AppendUint(append(b, `,"parent":"`...), uint64(e.Parent), 10), '"')
	}
	if e.Agent != "" {
		b = appendMember(b, `,"agent":`, e.Agent)
	}
	for i, name := range e.Path {
		before := ","
		if i == 0 {
			before = `,"path":[`
		}
		b = appendMember(b, before, name)
	}
	if len(e.Path) > 0 {
		b = append(b, ']')
	}
	b, err := e.appendData(append(b, `,"data":`...))
	if err != nil {
		return nil, fmt.Errorf("event %s of run %q: %w", e.Type, e.Run, err)
	}
	if len(e.Sealed) > 0 {
		b = append(base64.StdEncoding.AppendEncode(append(b, `,"sealed":"`...), e.Sealed), '"')
	}
	return append(b, '}'), nil
}

func (e *Event) appendData(b []byte) ([]byte, error) {
	switch d := e.Data.(type) {
	case nil:
		return append(b, "{}"...), nil
	case *ModelDeltaData:
		if d != nil {
			return d.append(b), nil
		}
	case *ToolDeltaData:
		if d != nil && len(d.Parts) == 0 {
			return d.append(b), nil
		}
	}
	data, err := json.Marshal(e.Data)
	return append(b, data...), err
}

// append appends the data as JSON.
func (d *ModelDeltaData) append(b []byte) []byte {
	b = appendMember(b, `{"kind":`, string(d.Kind))
	b = appendMember(b, `,"text":`, d.Text)
	if d.Call != "" {
		b = appendMember(b, `,"call":`, d.Call)
	}
	if d.Index != nil {
		b = strconv.AppendInt(append(b, `,"index":`...), int64(*d.Index), 10)
	}
	if d.Name != "" {
		b = appendMember(b, `,"name":`, d.Name)
	}
	return append(appendChars(b, d.Chars), '}')
}

// append appends the data, which has no parts, as JSON.
func (d *ToolDeltaData) append(b []byte) []byte {
	b = appendMember(b, `{"call":`, d.Call)
	if d.Text != "" {
		b = appendMember(b, `,"text":`, d.Text)
	}
	return append(appendChars(b, d.Chars), '}')
}

func appendChars(b []byte, chars int) []byte {
	if chars == 0 {
		return b
	}
	return strconv.AppendInt(append(b, `,"chars":`...), int64(chars), 10)
}

// appendMember appends a text behind what stands before it.
func appendMember(b []byte, before, text string) []byte {
	return appendText(append(b, before...), text)
}

// appendText appends a text as JSON, as package json encodes it, which is asked for what texts rarely have.
func appendText(b []byte, text string) []byte {
	begin := len(b)
	b = append(b, '"')
	from, isPlain := 0, true
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			isPlain = isPlain && c < utf8.RuneSelf
			continue
		}
		escaped := ""
		switch c {
		case '"':
			escaped = `\"`
		case '\\':
			escaped = `\\`
		case '\n':
			escaped = `\n`
		case '\r':
			escaped = `\r`
		case '\t':
			escaped = `\t`
		default:
			return appendRare(b[:begin], text)
		}
		b = append(append(b, text[from:i]...), escaped...)
		from = i + 1
	}
	if !isPlain && (!utf8.ValidString(text) || strings.ContainsAny(text, "\u2028\u2029")) {
		return appendRare(b[:begin], text)
	}
	return append(append(b, text[from:]...), '"')
}

// appendRare appends a text with what implementations of JSON write in different ways.
func appendRare(b []byte, text string) []byte {
	data, _ := json.Marshal(text) // a text can always be encoded
	return append(b, data...)
}
