package runlog

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// filled is a value of a type in which each field is set.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[Message]():
		return reflect.ValueOf(Message{Chat: &schema.Message{Role: schema.User, Content: "text"}})
	case t == reflect.TypeFor[schema.ToolOutputPart]():
		return reflect.ValueOf(schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: "text"})
	case t == reflect.TypeFor[json.RawMessage]():
		return reflect.ValueOf(json.RawMessage(`{"raw":1}`))
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(filled(t.Key()), filled(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			switch f := t.Field(i); {
			case f.Type == reflect.TypeFor[time.Time]():
				v.Field(i).Set(reflect.ValueOf(time.Unix(7, 0).UTC()))
			case f.IsExported():
				v.Field(i).Set(filled(f.Type))
			}
		}
	default:
		panic(t)
	}
	return v
}

// Every type of event is written as it always was, with all members that it may have, and read as it was written. A change
// of testdata/types.jsonl is one of the format.
//
// Rule runlog/RL2.
func TestEvent_IsWrittenAsItAlwaysWas(t *testing.T) {
	const golden = "testdata/types.jsonl"
	var lines []string
	for i, kind := range slices.Sorted(maps.Keys(dataTypes)) {
		data := reflect.New(dataTypes[kind])
		data.Elem().Set(filled(dataTypes[kind]))
		e := Event{V: Version, Run: "run", Seq: uint64(i + 2), From: uint64(i + 1), Token: 0x3f, T: 1795357643123456, Type: kind,
			Span: 7, Parent: 3, Agent: "a", Path: []string{"desk", "a"}, Data: data.Interface()}
		line, err := json.Marshal(e)
		require.NoError(t, err)
		var again Event
		require.NoError(t, json.Unmarshal(line, &again))
		require.Equal(t, e, again, kind)
		lines = append(lines, string(line))
	}
	if os.Getenv("WEFT_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, strings.Split(strings.TrimSpace(string(want)), "\n"), lines)
}

// An agentic message is its blocks.
//
// Rule runlog/RL2.
func TestEvent_AgenticMessagesAreTheirBlocks(t *testing.T) {
	line, err := json.Marshal(Event{V: Version, Run: "run", Seq: 1, Type: Said, Data: &MessageData{Message: Message{
		Agentic: schema.UserAgenticMessage("hello")}}})
	require.NoError(t, err)
	require.JSONEq(t, `{"v":1,"run":"run","seq":1,"t":0,"type":"message","span":"0","data":{"message":{"role":"user","blocks":[
		{"type":"user_input_text","user_input_text":{"text":"hello"}}]}}}`, string(line))
}

// FuzzEvent reads what others have written: it never panics, and what it has read it can write.
func FuzzEvent(f *testing.F) {
	golden, err := os.ReadFile("testdata/types.jsonl")
	require.NoError(f, err)
	for _, line := range strings.Split(string(golden), "\n") {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"v":1,"run":"r","seq":1,"type":"unknown","span":"x","data":[1]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Event
		if json.Unmarshal(data, &e) != nil {
			return
		}
		again, err := json.Marshal(e)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(again, &e))
	})
}

// FuzzParseCursor reads positions of clients.
func FuzzParseCursor(f *testing.F) {
	for _, text := range []string{"", "3f.118", "0.0", ".", "-1.2", "ffffffffffffffff.18446744073709551615", "1.1.end"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := runs.ParseCursor(text)
		if err == nil && text != "" {
			again, err := runs.ParseCursor(c.String())
			require.NoError(t, err)
			require.Equal(t, c, again)
		}
	})
}
