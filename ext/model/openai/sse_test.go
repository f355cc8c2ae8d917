package openai

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
			[]string{`{"a":1}`, `{"b":2}`}, errDone},
		"no space, CRLF": {"data:{\"a\":1}\r\n\r\ndata:[DONE]\r\n\r\n", []string{`{"a":1}`}, errDone},
		"no blank lines": {"data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n", []string{`{"a":1}`, `{"b":2}`},
			errDone},
		"comments and other fields": {": hi\n\nevent: x\nid: 1\nretry: 2\ndata: {}\n\n:\n\ndata: [DONE]\n\n", []string{`{}`},
			errDone},
		"several lines":        {"data: {\ndata: \"a\":1}\n\ndata: [DONE]\n\n", []string{"{\n\"a\":1}"}, errDone},
		"no JSON":              {"data: {]\n\ndata: x\n\n", []string{"{]", "x"}, io.EOF},
		"empty data":           {"data:\n\ndata: \n\ndata: [DONE]\n\n", nil, errDone},
		"end at the last byte": {"data: {\"a\":1}", []string{`{"a":1}`}, io.EOF},
		"cut":                  {"data: {\"a\":", nil, io.ErrUnexpectedEOF},
		"cut in several lines": {"data: {\"a\":\ndata: 1}", []string{"{\"a\":\n1}"}, io.EOF},
		"nothing":              {"", nil, io.EOF},
		"not an event stream":  {"<html>\n<body>\n", nil, io.EOF},
		"bare object":          {"{\"error\":1}\n", []string{`{"error":1}`}, io.EOF},
		"error in the name":    {"error: {\"m\":1}\n\n", []string{`{"error": {"m":1}}`}, io.EOF},
		"long line": {"data: {\"a\":\"" + strings.Repeat("x", 10000) + "\"}\n\n",
			[]string{`{"a":"` + strings.Repeat("x", 10000) + `"}`}, io.EOF},
		"byte order mark":            {"\uFEFFdata: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`{"a":1}`}, errDone},
		"nothing counts behind done": {"data: [DONE]\n\ndata: {}\n\n", nil, errDone},
	} {
		for kind, r := range map[string]io.Reader{
			"at once": strings.NewReader(c.body), "byte by byte": iotest.OneByteReader(strings.NewReader(c.body)),
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				e := newEvents(r, 1<<20)
				var got []string
				for {
					data, err := e.next()
					if err != nil {
						require.Equal(t, c.end, err)
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

func TestSources_Limit(t *testing.T) {
	for name, s := range map[string]source{
		"line":     newEvents(io.MultiReader(strings.NewReader("data: "), &endlessly{text: "x"}), 10000),
		"lines":    newEvents(&endlessly{text: "data: x\n"}, 10000),
		"comment":  newEvents(io.MultiReader(strings.NewReader(":"), &endlessly{text: "x"}), 10000),
		"document": &document{r: &endlessly{text: "x"}, limit: 10000},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.next()
			require.Equal(t, errTooLarge, err)
		})
	}
	endless := newEvents(&endlessly{text: "data: {}\n:\n\n"}, 100)
	endless.left = 10_000
	var err error
	for err == nil {
		_, err = endless.next()
	}
	require.Equal(t, errTooLarge, err)

	exact := &document{r: strings.NewReader("{}"), limit: 2}
	data, err := exact.next()
	require.NoError(t, err)
	require.Equal(t, "{}", string(data))
	_, err = exact.next()
	require.Equal(t, errDone, err)
}
