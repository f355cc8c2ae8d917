package schema_test

import (
	"fmt"
	"strings"

	"github.com/weftgo/weft/schema"
)

func ExamplePipe() {
	sr, sw := schema.Pipe[string](4)
	go func() {
		defer sw.Close()
		for _, word := range strings.Fields("a stream of words") {
			if closed := sw.Send(word, nil); closed {
				return // the reader is gone
			}
		}
	}()
	for word, err := range sr.All() {
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		fmt.Println(word)
	}
	// Output:
	// a
	// stream
	// of
	// words
}

func ExampleStreamReader_Copy() {
	copies := schema.StreamReaderFromArray([]int{1, 2, 3}).Copy(2)
	sum, product := 0, 1
	for n := range copies[0].All() {
		sum += n
	}
	for n := range copies[1].All() {
		product *= n
	}
	fmt.Println(sum, product)
	// Output: 6 6
}

func ExampleMergeNamedStreamReaders() {
	sr := schema.MergeNamedStreamReaders(map[string]*schema.StreamReader[string]{
		"greeting": schema.StreamReaderFromArray([]string{"hello"}),
	})
	for word, err := range sr.All() {
		if name, ended := schema.GetSourceName(err); ended {
			fmt.Println(name, "has ended")
			continue
		}
		fmt.Println(word)
	}
	// Output:
	// hello
	// greeting has ended
}

func ExampleStreamReaderWithConvert() {
	numbers := schema.StreamReaderFromArray([]int{1, 2, 3, 4})
	even := schema.StreamReaderWithConvert(numbers, func(n int) (string, error) {
		if n%2 != 0 {
			return "", schema.ErrNoValue // leave it out
		}
		return fmt.Sprintf("<%d>", n), nil
	})
	for s := range even.All() {
		fmt.Println(s)
	}
	// Output:
	// <2>
	// <4>
}
