package approval_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// No question is asked about arguments that the schema of the tool refuses: the model reads what is wrong, as it does
// without the approval. Edited arguments are checked against the schema, too, and asked for again.
func TestAsk_IsNotForArgumentsThatDoNotFit(t *testing.T) {
	messagetest.Both(t, testMisfit[*schema.Message], testMisfit[*schema.AgenticMessage])
}

type refundOf struct {
	Euros int `json:"euros" jsonschema:"minimum=1"`
}

func testMisfit[M adk.MessageType](t *testing.T) {
	for arguments, wrong := range map[string]string{
		`{"euros":0}`: "euros must be at least 1", `{}`: "euros is required", ``: "euros is required",
		`{"euros":`: "the arguments are not valid JSON: unexpected EOF",
	} {
		for _, withApproval := range []bool{false, true} {
			paid := 0
			refund, err := utils.InferTool("refund", "pays", func(_ context.Context, in refundOf) (string, error) {
				paid += in.Euros
				return "paid", nil
			})
			require.NoError(t, err)
			fits := adktest.Calls(adktest.Call("refund", `{"euros":5}`)).
				SeeingLast("tool refund#call_1: The call was not executed: " + wrong)
			m := adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("refund", arguments)), fits, adktest.Says("done"))
			conf := &adk.TypedChatModelAgentConfig[M]{Model: m, ToolsConfig: adktest.Tools(refund)}
			conf.ToolsConfig.ReportMistakes = true
			if !withApproval {
				openFor(t, conf).events.ExpectText("done")
				continue
			}
			handler, err := approval.NewTyped[M](t.Context(), &approval.Config{Tools: []string{"refund"}})
			require.NoError(t, err)
			conf.Handlers = []adk.TypedChatModelAgentMiddleware[M]{handler}
			d := openFor(t, conf)
			asked, _ := d.asked()
			require.Len(t, asked, 1)
			r := d.question("call_2")
			require.Equal(t, `{"euros":5}`, r.Arguments)
			d.answer(map[string]any{"call_2": r.Edit(`{"euros":0}`)})
			r = d.question("call_2")
			require.Equal(t, "the edited arguments do not fit: euros must be at least 1", r.Refused)
			require.Zero(t, paid)
			d.answer(map[string]any{"call_2": r.Edit(`{"euros":7}`)})
			d.events.ExpectText("done")
			require.Equal(t, 7, paid)
		}
	}
}

// Without ReportMistakes an agent's tools take what they can decode, so that the person decides.
func TestAsk_IsForWhatTheAgentDoesNotCheck(t *testing.T) {
	refund, err := utils.InferTool("refund", "pays", func(context.Context, refundOf) (string, error) { return "paid", nil })
	require.NoError(t, err)
	d := open(t, approval.Config{Tools: []string{"refund"}},
		adktest.NewModel(t, adktest.Calls(adktest.Call("refund", `{"euros":0}`)), adktest.Says("done")), refund)
	d.answer(map[string]any{"call_1": d.question("call_1").Approve()})
	d.events.ExpectText("done")
}
