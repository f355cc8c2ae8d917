package serve

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// everyEvent is one event of each type that package runlog declares, as its reader makes them.
func everyEvent(t *testing.T) (all []runlog.Event) {
	source, err := os.ReadFile("../adk/runlog/event.go")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`Type = "([a-z.]+)"`).FindAllStringSubmatch(string(source), -1) {
		var e runlog.Event
		require.NoError(t, json.Unmarshal([]byte(`{"v":1,"run":"r","seq":1,"type":"`+m[1]+`","data":{}}`), &e))
		require.Equal(t, reflect.Pointer, reflect.TypeOf(e.Data).Kind(), m[1])
		all = append(all, e)
	}
	require.GreaterOrEqual(t, len(all), 22)
	return all
}

// sow writes canaries to all places of a value that are not for clients, and something to all others.
func sow(v reflect.Value, name string, agentic bool, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		sow(v.Elem(), name, agentic, depth+1)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		sow(v.Index(0), name, agentic, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			other := v.Type() == reflect.TypeFor[runlog.Message]() && f.Name != map[bool]string{true: "Agentic", false: "Chat"}[agentic]
			if f.IsExported() && !other {
				sow(v.Field(i), v.Type().Name()+"."+f.Name, agentic, depth+1)
			}
		}
	case reflect.Map:
		switch {
		case strings.HasSuffix(name, ".Extra"):
			v.Set(reflect.ValueOf(map[string]any{"of": "canary-extra"}))
		case strings.HasSuffix(name, ".Labels"):
			v.Set(reflect.ValueOf(map[string]string{tagOwner: "canary-owner", tagThread: "t", tagBody: "canary-body",
				tagSampling: "canary-sampling", tagStateless: "canary-stateless", tagReplaces: "canary-replaces", "mine": "seen"}))
		}
	case reflect.String:
		switch name {
		case "Err.Message", "RunStartData.Conversation":
			v.SetString("canary-" + name)
		default:
			v.SetString("shown")
		}
	}
}

// Nothing of the server's own, of providers and middlewares, and no text of an error is in an event for clients, whatever
// its type; and the record itself is not changed.
// Rule serving/SV16.
func TestServer_KeepsWhatIsItsOwnOutOfEveryEvent(t *testing.T) {
	s := &Server{}
	for _, agentic := range []bool{false, true} {
		for _, e := range everyEvent(t) {
			sow(reflect.ValueOf(e.Data).Elem(), "", agentic, 0)
			if d, ok := e.Data.(*runlog.ModelStartData); ok { // what models are asked
				d.Messages.Add = []runlog.Message{runlog.MessageOf(schema.SystemMessage("canary-prompt"))}
			}
			before, err := e.MarshalJSON()
			require.NoError(t, err)
			public, err := s.publicEvent(e).MarshalJSON()
			require.NoError(t, err)
			require.NotContains(t, string(public), "canary", "%s", e.Type)
			after, err := e.MarshalJSON()
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "%s: the record is the same", e.Type)
		}
	}
	start := s.publicEvent(runlog.Event{Type: runlog.RunStart, Data: &runlog.RunStartData{Conversation: "ana/t",
		Labels: map[string]string{tagOwner: "ana", tagThread: "t", "mine": "seen"}}}).Data.(*runlog.RunStartData)
	require.Equal(t, &runlog.RunStartData{Thread: "t", Labels: map[string]string{"mine": "seen"}}, start)
}
