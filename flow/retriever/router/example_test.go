package router_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/flow/retriever/router"
	"github.com/weftgo/weft/schema"
)

// shelf is a retriever that has what is written on it.
type shelf []string

func (s shelf) Retrieve(_ context.Context, query string, _ ...retriever.Option) ([]*schema.Document, error) {
	var found []*schema.Document
	for _, title := range s {
		if strings.Contains(title, query) {
			found = append(found, &schema.Document{ID: title})
		}
	}
	return found, nil
}

// Without a router all retrievers are asked, and what many of them have comes first.
func ExampleNewRetriever() {
	ctx := context.Background()
	library, err := router.NewRetriever(ctx, &router.Config{Retrievers: map[string]retriever.Retriever{
		"handbook": shelf{"go tools", "go streams", "rust streams"},
		"blog":     shelf{"go streams", "go maps"},
	}})
	if err != nil {
		panic(err)
	}
	docs, err := library.Retrieve(ctx, "go")
	if err != nil {
		panic(err)
	}
	for _, doc := range docs {
		fmt.Println(doc.ID)
	}
	// Output:
	// go streams
	// go tools
	// go maps
}
