package serve

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
)

// TestServer_KeepsTheTextOfAnAnswerThatBrokeOff: what a person has read of an answer is in the thread, marked as incomplete,
// and the next question is asked behind it: after a stop, and after an error of the model, in memory and on files.
// Rule serving/SV27.
func TestServer_KeepsTheTextOfAnAnswerThatBrokeOff(t *testing.T) {
	for name, c := range map[string]struct {
		reply adktest.Answer
		stop  bool
		ends  string
	}{
		"a stop":                {adktest.Streams("one ", "two ").ThenBlocks(), true, "stopped"},
		"an error of the model": {adktest.Streams("one ", "two ").ThenFails(errors.New("overloaded")), false, "failed"},
	} {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " durable=", durable), func(t *testing.T) {
				conf := Config{}
				if durable {
					store, err := checkpoint.NewFileStore(t.TempDir())
					require.NoError(t, err)
					conf.Store = store
				}
				d := newDesk(t, conf, agentOf(t, adk.ChatModelAgentConfig{}, c.reply,
					adktest.Says("three").Seeing("user: count", "assistant: one two ", "user: go on")))
				run := d.call(201, "POST", "/agents/desk/runs", `{"input":"count","thread":"t1"}`)["id"].(string)
				if c.stop {
					time.Sleep(200 * time.Millisecond) // the two pieces are shown
					d.call(202, "POST", "/runs/"+run+"/stop", `{"mode":"now"}`)
				}
				require.Equal(t, c.ends, d.call(200, "GET", "/runs/"+run, "", "Prefer", "wait=10")["status"])
				require.Equal(t, []string{"count", "one two "}, d.texts("t1"))
				last := d.call(200, "GET", "/threads/t1/messages", "")["messages"].([]any)[1].(map[string]any)
				require.Equal(t, true, last["incomplete"])
				d.stream("POST", "/agents/desk/runs", `{"input":"go on","thread":"t1"}`)
				require.Equal(t, []string{"count", "one two ", "go on", "three"}, d.texts("t1"))
			})
		}
	}
}
