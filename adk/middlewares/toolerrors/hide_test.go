package toolerrors_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/schema"
)

// The model does not read the keys in the text of an error, unless the configuration says so.
func TestErrors_ReachTheModelWithoutKeys(t *testing.T) {
	fails := errors.New("GET https://db.example.com/?token=canary refused")
	for seen, conf := range map[string]*toolerrors.Config{
		"https://db.example.com/?token=*** refused":    nil,
		"https://db.example.com/?token=canary refused": {Hide: func(text string) string { return text }},
		"HTTPS://DB.EXAMPLE.COM/?TOKEN=CANARY REFUSED": {Hide: strings.ToUpper},
	} {
		want := "The call of the tool failed: GET " + seen
		if seen == strings.ToUpper(seen) {
			want = strings.ToUpper(want)
		}
		m := adktest.NewTypedModel[*schema.Message](t, adktest.Calls(adktest.Call("t", "{}")),
			adktest.Says("done").SeeingLast("tool t#call_1: "+want))
		adktest.Ask(t.Context(), t, newAgent(t, "a", conf, m, adktest.NewTool("t", adktest.Fails(fails))), "hi").ExpectText("done")
	}
}
