// Failover has a second model take over when the first one breaks off in the middle of its answer. What was written of
// that answer is withdrawn.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
	"github.com/weftgo/weft/schema"
)

// cut is a model whose connection breaks after a few words.
type cut struct{ model.BaseChatModel }

func (c cut) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	stream, err := c.BaseChatModel.Stream(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	pieces := 0
	return schema.StreamReaderWithConvert(stream, func(piece *schema.Message) (*schema.Message, error) {
		if pieces++; pieces > 4 {
			return nil, errors.New("connection reset by peer")
		}
		return piece, nil
	}), nil
}

func main() {
	lines := demo.Says("Rivers are water that has somewhere to be.")
	agent, err := weft.New(weft.Config{Model: cut{llm.Model(lines)}, Fallbacks: []weft.Model{llm.Model(lines)}})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range agent.Stream(context.Background(), "Describe rivers in one sentence.") {
		if err != nil {
			log.Fatal(err)
		}
		if event.Again {
			fmt.Print(" … (broken off; the next model answers)\n")
		}
		fmt.Print(event.Text)
	}
	fmt.Println()
}
