package conversation

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/schema"
)

// extras are values that providers put into Extra, whose types have to survive.
var extras = []any{int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64), 7, 1.5, true, "s", []byte{0, 255},
	[]string{"a", ""}, map[string]any{"k": int64(1)}, []any{nil, int64(2)}}

// fillMessage fills every field that a message has, also those that later releases add.
func fillMessage(t *testing.T, r *rand.Rand, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{1, math.MaxInt64, math.MinInt64}[r.IntN(3)] >> (64 - v.Type().Bits()))
		if v.Int() == 0 {
			v.SetInt(1)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(math.MaxUint64 >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0.1, -1e300, 3}[r.IntN(3)])
		if v.Kind() == reflect.Float32 {
			v.SetFloat(0.5)
		}
	case reflect.String:
		v.SetString([]string{"text", "é\x00\xff", `{"n":9007199254740993}`}[r.IntN(3)])
	case reflect.Interface:
		v.Set(reflect.ValueOf(extras[r.IntN(len(extras))]))
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*schema.ToolInfo]() { // what a search found is kept as JSON: no int64
			v.Set(reflect.ValueOf(&schema.ToolInfo{Name: "n", Desc: "d", Extra: map[string]any{"s": "x"}}))
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fillMessage(t, r, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(2), 2))
		for i := range v.Len() {
			fillMessage(t, r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillMessage(t, r, key)
			fillMessage(t, r, value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			require.True(t, v.Type().Field(i).IsExported(), "%s.%s is not kept", v.Type(), v.Type().Field(i).Name)
			fillMessage(t, r, v.Field(i))
		}
	default:
		t.Fatalf("fields of type %s are not tested", v.Type())
	}
}

// Every field of a message, filled with the extremes of its type, is read as it was written.
//
// Rule distributed/M12.
func TestTurn_KeepsEveryFieldOfItsMessages(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := new(schema.Message)
		fillMessage(t, r, reflect.ValueOf(m).Elem())
		want := Turn{ID: "1", Asked: []*schema.Message{m}, Said: []adk.HistoryEntry{{AgentName: "a", Message: m}}}
		data, err := EncodeTurn(want)
		require.NoError(t, err, "seed %d", seed)
		got, err := DecodeTurn(data)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
	}
}

// goldenTurns returns the turns of the main branch of the golden conversation.
func goldenTurns() []Turn {
	at := time.Unix(1_700_000_000, 5000).UTC()
	index := 2
	return []Turn{
		{ID: "run-1", Kind: Exchange, Status: Kept, Position: 1, Entry: "clerk", Agent: "expert",
			Asked: []*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
				{Type: schema.ChatMessagePartTypeText, Text: "What is this?"}}}},
			Said: []adk.HistoryEntry{
				{AgentName: "clerk", Message: &schema.Message{Role: schema.Assistant, ReasoningContent: "hm",
					ToolCalls: []schema.ToolCall{{Index: &index, ID: "call-1", Type: "function",
						Function: schema.FunctionCall{Name: "look", Arguments: `{"n":9007199254740993}`},
						Extra:    map[string]any{"signature": []byte{0, 255}}}},
					Extra: map[string]any{"big": int64(math.MaxInt64)}}},
				{AgentName: "clerk", Message: schema.ToolMessage("a cat", "call-1")},
				{AgentName: "expert", Message: schema.AssistantMessage("A cat.", nil)}},
			Usage: schema.TokenUsage{PromptTokens: 3, TotalTokens: 9}, Tags: map[string]string{"k": "v"}, Began: at, Changed: at},
		{ID: "note-1", Kind: Note, Status: Kept, Position: 2, Asked: []*schema.Message{schema.UserMessage("It is ours.")},
			Began: at, Changed: at},
		{ID: "sum-1", Kind: Compaction, Status: Kept, Position: 3, Covers: 1, Began: at, Changed: at,
			Said: []adk.HistoryEntry{{Message: schema.UserMessage("They spoke of a cat.")}}},
		{ID: "run-2", Kind: Exchange, Status: Kept, Position: 4, Asked: []*schema.Message{schema.UserMessage("More?")},
			Said: []adk.HistoryEntry{{AgentName: "expert", Message: schema.AssistantMessage("No.", nil)}}, Began: at, Changed: at},
	}
}

// goldenFile has the records of journals, by their IDs.
const goldenFile = "testdata/conversation-1.json"

// makeGolden writes a conversation with all that one can have: kinds of turns, a fork, a turn that waits.
func makeGolden(t *testing.T) {
	kept := checkpoint.NewMemoryStore()
	s, err := NewStore(kept)
	require.NoError(t, err)
	_, err = s.Create(t.Context(), Info{ID: "golden/π", User: "ana", Title: "Cats", Tags: map[string]string{"a": "b"}})
	require.NoError(t, err)
	for i, turn := range goldenTurns() {
		if turn.ID == "run-2" {
			require.NoError(t, s.SetOpen(t.Context(), "golden/π", Main, "", &OpenTurn{Turn: turn, Key: "k"}))
			_, err = s.Append(t.Context(), "golden/π", Main, NewTurn{Turn: turn, Key: "k"})
		} else {
			_, err = s.Append(t.Context(), "golden/π", Main, NewTurn{Turn: turn, Head: Position(i)})
		}
		require.NoError(t, err)
	}
	require.NoError(t, s.Fork(t.Context(), "golden/π", Main, 2, "fork"))
	_, err = s.Append(t.Context(), "golden/π", "fork", NewTurn{Head: 2, Turn: Turn{ID: "back", Kind: Rewind, Covers: 2}})
	require.NoError(t, err)
	require.NoError(t, s.SetOpen(t.Context(), "golden/π", "fork", "", &OpenTurn{Key: "secret", Turn: Turn{ID: "run-3",
		Kind: Exchange, Status: Waiting, Asked: []*schema.Message{schema.UserMessage("Buy one?")}}}))
	journals := map[string][]string{}
	for info, err := range kept.ListCheckPoints(t.Context(), "") {
		require.NoError(t, err)
		records, err := kept.ReadRecords(t.Context(), info.ID)
		require.NoError(t, err)
		for _, r := range records {
			journals[info.ID] = append(journals[info.ID], base64.StdEncoding.EncodeToString(r))
		}
	}
	data, err := json.MarshalIndent(journals, "", "\t")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(goldenFile, append(data, '\n'), 0o644))
}

// What an earlier release wrote is read, and continued.
//
// Rule distributed/M12.
func TestStore_ReadsTheConversationOfEveryRelease(t *testing.T) {
	if os.Getenv("WEFT_WRITE_GOLDEN") != "" { // only for a format that was not released
		makeGolden(t)
	}
	data, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	var journals map[string][]string
	require.NoError(t, json.Unmarshal(data, &journals))
	kept := checkpoint.NewMemoryStore()
	for id, records := range journals {
		for _, text := range records {
			record, err := base64.StdEncoding.DecodeString(text)
			require.NoError(t, err)
			require.NoError(t, kept.AppendRecord(t.Context(), id, record))
		}
	}
	s, err := NewStore(kept)
	require.NoError(t, err)
	const id = "golden/π"
	info, ok, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []any{"ana", "Cats", "b"}, []any{info.User, info.Title, info.Tags["a"]})
	want := goldenTurns()
	i := len(want)
	for turn, err := range s.Turns(t.Context(), id, Main, 0) {
		require.NoError(t, err)
		i--
		require.Equal(t, want[i], turn)
	}
	require.Zero(t, i)
	lane, err := s.State(t.Context(), id, Main)
	require.NoError(t, err)
	require.Equal(t, BranchState{Head: 4, Compacted: 3}, lane)
	lane, err = s.State(t.Context(), id, "fork")
	require.NoError(t, err)
	require.Equal(t, []any{Position(2), Position(3), 1}, []any{lane.ForkedAt, lane.Head, lane.Depth})
	require.Equal(t, []any{"run-3", Waiting, "secret"}, []any{lane.Open.ID, lane.Open.Status, lane.Open.Key})
	_, err = s.Append(t.Context(), id, Main, NewTurn{Head: 4, Turn: Turn{ID: "new", Kind: Note}})
	require.NoError(t, err)
}

// Appending to a conversation of 100,000 turns costs what it costs at the beginning.
//
// Rule distributed/M9.
func TestStore_AppendsAsFastToALongConversation(t *testing.T) {
	if !testsize.Full() {
		t.Skip("it appends 100,000 turns")
	}
	s, err := NewStore(checkpoint.NewMemoryStore())
	require.NoError(t, err)
	head := Position(0)
	appendTurns := func(n int) time.Duration {
		began := time.Now()
		for range n {
			turn := Turn{ID: fmt.Sprint(head), Kind: Note, Asked: []*schema.Message{schema.UserMessage("hello")}}
			next, err := s.Append(t.Context(), "c", Main, NewTurn{Turn: turn, Head: head})
			require.NoError(t, err)
			head = next
		}
		return time.Since(began)
	}
	const some = 1000
	early := appendTurns(some)
	appendTurns(100_000 - 2*some)
	late := appendTurns(some)
	t.Logf("%d turns: %v at first, %v behind 99,000", some, early, late)
	require.Less(t, late, 5*early+50*time.Millisecond)
}
