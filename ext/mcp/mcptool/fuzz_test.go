package mcptool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// FuzzConvert holds the limits of results against whatever a server can send.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{`{}`, `{"content":[{"type":"text","text":"a"}],"structuredContent":{"content":"a"}}`,
		`{"content":[{"type":"resource","resource":{"uri":"x","blob":"YWJj"}},{"type":"image","data":"YWJj","mimeType":"image/png"}]}`,
		`{"isError":true,"content":[{"type":"resource_link","uri":"x","name":"n","size":3}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r mcp.CallToolResult
		if json.Unmarshal([]byte(text), &r) != nil {
			return
		}
		conf := &Config{MaxText: 64, MaxMedia: 64}
		result := convert(conf, &r)
		require.NotEmpty(t, result.Parts)
		total := 0
		for _, p := range result.Parts {
			total += len(strings.ToValidUTF8(p.Text, ""))
			require.Equal(t, r.IsError, p.Extra[ErrorKey] == true)
		}
		require.LessOrEqual(t, total, 2*64+200*(len(result.Parts)+1)+len(text))
		_, err := result.ToMessageInputParts()
		require.NoError(t, err)
	})
}

// FuzzParamsOf has whatever a server can send as a schema read.
func FuzzParamsOf(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `true`, `{"type":"object","properties":{"x":5}}`,
		`{"$schema":"x","type":"object","definitions":{"a":{"$ref":"#/definitions/a"}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		params, err := paramsOf(json.RawMessage(text))
		if err != nil {
			return
		}
		data, err := params.SchemaJSON()
		require.NoError(t, err)
		var members map[string]any
		require.NoError(t, json.Unmarshal(data, &members))
		require.Equal(t, "object", members["type"])
		require.NotContains(t, members, "$schema")
	})
}

// FuzzInputOf has whatever a server can ask looked at, and answered.
func FuzzInputOf(f *testing.F) {
	for _, seed := range []string{`{"a":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}}`,
		`{"a":{"method":"elicitation/create","params":{"mode":"url","url":"https://user@x"}}}`,
		`{"a":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}]}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "null") { // the SDK panics about some: see TestCall_SurvivesWhatTheSDKDoesNot
			return
		}
		var requests mcp.InputRequestMap
		if json.Unmarshal([]byte(text), &requests) != nil {
			return
		}
		for id, request := range requests {
			in, err := inputOf(id, request)
			if err != nil {
				continue
			}
			q := &Question{Inputs: []Input{in}}
			_ = q.Asks()
			w := &waiting{}
			q.take(t.Context(), w, Answers{id: {Action: Accept, Content: map[string]any{"text": "x"}}})
			_, err = w.params()
			require.NoError(t, err)
		}
	})
}
