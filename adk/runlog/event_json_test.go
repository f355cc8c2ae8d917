package runlog

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/json"
)

// byTypes is an event as JSON, encoded by its types.
func byTypes(t *testing.T, e *Event) string {
	w := wireEvent{V: e.V, Run: e.Run, Seq: e.Seq, From: e.From, T: e.T, Type: e.Type, Span: strconv.FormatUint(uint64(e.Span), 10),
		Agent: e.Agent, Path: e.Path, Sealed: e.Sealed}
	if e.Token != 0 {
		w.Token = strconv.FormatUint(e.Token, 16)
	}
	if e.Span != 0 {
		w.Parent = strconv.FormatUint(uint64(e.Parent), 10)
	}
	var err error
	w.Data, err = json.Marshal(e.Data)
	require.NoError(t, err)
	text, err := json.MarshalString(w)
	require.NoError(t, err)
	return text
}

// The pieces of answers, which are written by hand, are what an encoder makes of their types, whatever is in them.
//
// Rule runlog/RL2.
func TestEvent_PiecesAreWrittenAsByTheirTypes(t *testing.T) {
	runes := []rune("ab<&>\"\\/\n\r\t\b\f\x00\x1f\x7fäß中文🙂\u2028\u2029\ufffd")
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range random.IntN(12) {
			if random.IntN(20) == 0 {
				b.WriteByte(0xff) // no UTF-8
			} else {
				b.WriteRune(runes[random.IntN(len(runes))])
			}
		}
		return b.String()
	}
	for range 5000 {
		e := &Event{V: 1, Run: text(), Seq: random.Uint64N(9), From: random.Uint64N(2), Token: random.Uint64N(2) * 0xabc, T: int64(random.IntN(9)),
			Span: SpanID(random.Uint64N(2)), Parent: SpanID(random.Uint64N(2)), Agent: text()}
		for range random.IntN(3) {
			e.Path = append(e.Path, text())
		}
		if random.IntN(2) == 0 {
			e.Sealed = []byte(text())
		}
		index := random.IntN(3)
		if random.IntN(2) == 0 {
			d := &ModelDeltaData{Kind: Text, Text: text(), Call: text(), Name: text(), Chars: index}
			if index > 0 {
				d.Index = &index
			}
			e.Type, e.Data = ModelDelta, d
		} else {
			e.Type, e.Data = ToolDelta, &ToolDeltaData{Call: text(), Text: text(), Chars: index}
		}
		got, err := e.AppendJSON([]byte("before "))
		require.NoError(t, err)
		require.Equal(t, "before "+byTypes(t, e), string(got))
	}
}

// A piece of an answer costs no memory of its own when it is written to a client.
func TestEvent_PiecesAreWrittenWithoutMemory(t *testing.T) {
	e := &Event{V: 1, Run: "r_1", Seq: 7, Token: 2, T: 1795357643123456, Type: ModelDelta, Span: 2, Parent: 1, Agent: "desk",
		Path: []string{"desk"}, Data: &ModelDeltaData{Kind: Text, Text: "a \"piece\"\nof text"}}
	room := make([]byte, 0, 1024)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := e.AppendJSON(room); err != nil {
			t.Fatal(err)
		}
	}))
}
