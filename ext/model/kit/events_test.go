package kit

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []string
		end  error
	}{
		"usual": {"data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n",
			[]string{`{"a":1}`, `{"b":2}`}, ErrDone},
		"no space, CRLF": {"data:{\"a\":1}\r\n\r\ndata:[DONE]\r\n\r\n", []string{`{"a":1}`}, ErrDone},
		"no blank lines": {"data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n", []string{`{"a":1}`, `{"b":2}`},
			ErrDone},
		"comments and other fields": {": hi\n\nevent: x\nid: 1\nretry: 2\ndata: {}\n\n:\n\ndata: [DONE]\n\n", []string{`{}`},
			ErrDone},
		"several lines":        {"data: {\ndata: \"a\":1}\n\ndata: [DONE]\n\n", []string{"{\n\"a\":1}"}, ErrDone},
		"no JSON":              {"data: {]\n\ndata: x\n\n", []string{"{]", "x"}, io.EOF},
		"empty data":           {"data:\n\ndata: \n\ndata: [DONE]\n\n", nil, ErrDone},
		"end at the last byte": {"data: {\"a\":1}", []string{`{"a":1}`}, io.EOF},
		"cut":                  {"data: {\"a\":", nil, io.ErrUnexpectedEOF},
		"cut in several lines": {"data: {\"a\":\ndata: 1}", []string{"{\"a\":\n1}"}, io.EOF},
		"JSON lines":           {"{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}, io.EOF},
		"JSON lines, no end":   {"{\"a\":1}\n{\"b\":2}", []string{`{"a":1}`, `{"b":2}`}, io.EOF},
		"nothing":              {"", nil, io.ErrUnexpectedEOF},
		"not an event stream":  {"<html>\n<body>\n", nil, io.ErrUnexpectedEOF},
		"bare object":          {"{\"error\":1}\n", []string{`{"error":1}`}, io.EOF},
		"error in the name":    {"error: {\"m\":1}\n\n", []string{`{"error": {"m":1}}`}, io.EOF},
		"long line": {"data: {\"a\":\"" + strings.Repeat("x", 10000) + "\"}\n\n",
			[]string{`{"a":"` + strings.Repeat("x", 10000) + `"}`}, io.EOF},
		"byte order mark":            {"\uFEFFdata: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`{"a":1}`}, ErrDone},
		"nothing counts behind done": {"data: [DONE]\n\ndata: {}\n\n", nil, ErrDone},
	} {
		for kind, r := range map[string]io.Reader{
			"at once": strings.NewReader(c.body), "byte by byte": iotest.OneByteReader(strings.NewReader(c.body)),
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				e := eventsOf(t, r)
				var got []string
				for {
					data, err := e.Next()
					if err != nil {
						require.ErrorIs(t, err, c.end)
						break
					}
					got = append(got, string(data))
				}
				require.Equal(t, c.want, got)
			})
		}
	}
}

// endlessly repeats a text.
type endlessly struct{ text, rest string }

func (e *endlessly) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestEvents_AreLimited(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"line":    io.MultiReader(strings.NewReader("data: "), &endlessly{text: strings.Repeat("x", 1<<16)}),
		"lines":   &endlessly{text: "data: " + strings.Repeat("x", 1<<16) + "\n"},
		"comment": io.MultiReader(strings.NewReader(":"), &endlessly{text: strings.Repeat("x", 1<<16)}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := eventsOf(t, r).Next()
			require.ErrorIs(t, err, errTooLarge)
		})
	}
	endless := eventsOf(t, &endlessly{text: "data: {}\n:\n\n"})
	endless.left = 10_000
	var err error
	for err == nil {
		_, err = endless.Next()
	}
	require.ErrorIs(t, err, errTooLarge)

	_, err = responseOf(t, "application/json", &endlessly{text: strings.Repeat("x", 1<<16)}).Document()
	require.ErrorIs(t, err, errTooLarge)
	_, err = responseOf(t, "application/json", strings.NewReader(" ")).Document()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	data, err := responseOf(t, "application/json", strings.NewReader("\uFEFF{}")).Document()
	require.NoError(t, err)
	require.Equal(t, "{}", string(data))
}

// Rule providers/K19.
func TestEvents_NoneIsAnErrorThatSaysWhatCame(t *testing.T) {
	_, err := responseOf(t, "text/plain", strings.NewReader("<html>\n<b>Bad gateway</b>")).Events().Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, `"text/plain"`)
	require.ErrorContains(t, err, "<html> <b>Bad gateway</b>")
}
