package vertex_test

import (
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/anthropic/internal/replay"
	"github.com/weftgo/weft/ext/model/anthropic/vertex"
)

var recorded = replay.Place{
	Recorded: func(file string) bool { return strings.HasPrefix(file, "anthropic/vertex") },
	Configure: func(_ string, conf *anthropic.Config) {
		conf.Model = "claude-3-7-sonnet@20250219"
		backend, err := vertex.New(vertex.Config{
			ProjectID: "fantasy-playground-472418", Region: "us-east5",
			TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "token-of-the-test"}),
		})
		if err != nil {
			panic(err)
		}
		conf.Backend = backend
	},
	System: "gcp.vertex_ai",
}

// TestCassettes holds providers/A38.
func TestCassettes(t *testing.T) { recorded.Run(t) }

// TestCassettes_HoweverTheyAreSplit holds providers/K18 and providers/K23.
func TestCassettes_HoweverTheyAreSplit(t *testing.T) { recorded.RunSplits(t) }
