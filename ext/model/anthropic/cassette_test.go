package anthropic_test

import (
	"strings"
	"testing"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/anthropic/internal/replay"
)

// atAnthropic are the recordings of Anthropic's own server.
var atAnthropic = replay.Place{
	Recorded: func(file string) bool {
		return strings.HasPrefix(file, "anthropic/claude") || strings.HasPrefix(file, "anthropic/web") ||
			strings.HasPrefix(file, "images/anthropic")
	},
	Configure: func(_ string, conf *anthropic.Config) { conf.APIKey = "the-key-of-the-test" },
	System:    "anthropic",
}

// TestCassettes holds providers/A1, providers/A10, providers/A15, providers/A24, providers/A25, providers/A28,
// providers/A29, providers/A30, providers/A31, providers/K33 and providers/K44.
func TestCassettes(t *testing.T) { atAnthropic.Run(t) }

// TestCassettes_HoweverTheyAreSplit holds providers/K18 and providers/K23.
func TestCassettes_HoweverTheyAreSplit(t *testing.T) { atAnthropic.RunSplits(t) }
