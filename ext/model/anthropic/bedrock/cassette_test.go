package bedrock_test

import (
	"strings"
	"testing"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/anthropic/bedrock"
	"github.com/weftgo/weft/ext/model/anthropic/internal/replay"
)

var recorded = replay.Place{
	Recorded: func(file string) bool { return strings.HasPrefix(file, "anthropic/bedrock") },
	Configure: func(_ string, conf *anthropic.Config) {
		conf.Model = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
		backend, err := bedrock.New(bedrock.Config{Region: "us-east-1", AccessKey: "AKIDEXAMPLE", SecretAccessKey: "secret-of-aws"})
		if err != nil {
			panic(err)
		}
		conf.Backend = backend
	},
	System: "aws.bedrock",
}

// TestCassettes holds providers/A36.
func TestCassettes(t *testing.T) { recorded.Run(t) }

// TestCassettes_HoweverTheyAreSplit holds providers/K18 and providers/K23.
func TestCassettes_HoweverTheyAreSplit(t *testing.T) { recorded.RunSplits(t) }
