package checkpoint_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weftgo/weft/adk/checkpoint"
)

// A journal takes one short record a step; the next process reads them back in order.
func Example() {
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := checkpoint.NewFileStore(dir)
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	if err := store.Set(ctx, "run-42", []byte("asked the model")); err != nil {
		panic(err)
	}
	for _, step := range []string{"weather: sunny", "calendar: free"} {
		if err := store.AppendRecord(ctx, "run-42", []byte(step)); err != nil {
			panic(err)
		}
	}

	later, err := checkpoint.NewFileStore(dir)
	if err != nil {
		panic(err)
	}
	saved, found, err := later.Get(ctx, "run-42")
	fmt.Println(string(saved), found, err)
	steps, err := later.ReadRecords(ctx, "run-42")
	fmt.Printf("%s %v\n", steps, err)
	// Output:
	// asked the model true <nil>
	// [weather: sunny calendar: free] <nil>
}
