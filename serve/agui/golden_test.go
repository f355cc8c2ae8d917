package agui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/serve/internal/servetest"
)

// What runs of agents look like in the protocol.
func TestTranslator_ShowsRunsAsInTheGoldenFiles(t *testing.T) {
	for name, events := range recordedRuns(t) {
		for _, legacy := range []bool{false, true} {
			var shown strings.Builder
			tr := newTranslator("t1", "run-1", Config{}, legacy, func(e event) {
				data, err := json.Marshal(e)
				require.NoError(t, err)
				shown.Write(append(data, '\n'))
			})
			tr.begin()
			for i := range events {
				tr.add(&events[i])
			}
			file := strings.ReplaceAll(name, " ", "-")
			if legacy {
				file += ".before-1.0"
			}
			servetest.RequireGolden(t, file+".golden", shown.String())
		}
	}
}
