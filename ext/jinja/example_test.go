package jinja_test

import (
	"context"
	"fmt"

	_ "github.com/weftgo/weft/ext/jinja"
	"github.com/weftgo/weft/schema"
)

// One import gives all Jinja2 templates of the program their engine.
func Example() {
	template := schema.UserMessage(`{{ name|upper }}:{% for s in scores if s > 0.3 %} {{ s }}{% endfor %}`)
	messages, err := template.Format(context.Background(),
		map[string]any{"name": "Ann", "scores": []float64{0.5, 0.25}}, schema.Jinja2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(messages[0].Content)
	// Output: ANN: 0.5
}
