package structured_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk/middlewares/structured"
)

func ExampleOutput_Parse() {
	type Forecast struct {
		City string `json:"city"`
		Sky  string `json:"sky" jsonschema:"enum=sun,enum=rain"`
	}
	output, err := structured.New[Forecast](nil)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	forecast, err := output.Parse(ctx, "```json\n{\"city\":\"Lisbon\",\"sky\":\"sun\"}\n```")
	fmt.Println(forecast, err)
	_, err = output.Parse(ctx, `{"city":"Lisbon","sky":"snow"}`)
	fmt.Println(err)
	// Output:
	// {Lisbon sun} <nil>
	// structured: the answer is not valid: sky must be one of "sun", "rain"
}
