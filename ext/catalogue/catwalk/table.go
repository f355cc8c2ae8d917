package catwalk

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/catalogue"
)

// table is table.txt. Its first lines say what is in the others.
type table struct {
	version string
	date    time.Time
	lists   catalogue.Catalogue
}

// parse reads the table, which a generator has written: it panics at anything else.
func parse(text string) *table {
	t := &table{}
	all, list := make(map[catalogue.Key]catalogue.ModelInfo, strings.Count(text, "\n")), ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
			t.comment(line)
		case strings.HasPrefix(line, "["):
			list = strings.Trim(line, "[]")
		default:
			fields := strings.Split(line, "\t")
			all[catalogue.Key{Provider: list, Model: fields[0]}] = info(fields)
		}
	}
	t.lists = catalogue.Static(all)
	return t
}

func (t *table) comment(line string) {
	if version, ok := strings.CutPrefix(line, "# version "); ok {
		t.version = version
	}
	if date, ok := strings.CutPrefix(line, "# date "); ok {
		t.date = must(time.Parse(time.DateOnly, date))
	}
}

// info makes a model of its line: name, context window, capabilities, and four prices if they are known.
func info(fields []string) catalogue.ModelInfo {
	if len(fields) != 3 && len(fields) != 7 {
		panic(fmt.Sprintf("catwalk: the table has a line of %d fields: %q", len(fields), fields))
	}
	m := catalogue.ModelInfo{ContextWindow: must(strconv.Atoi(fields[1])), Capabilities: catalogue.Capabilities{
		Reasoning: strings.Contains(fields[2], "r"), Images: strings.Contains(fields[2], "i")}}
	if len(fields) == 7 {
		cost := func(i int) float64 { return must(strconv.ParseFloat(fields[i], 64)) }
		m.Price = &catalogue.Price{Input: cost(3), Output: cost(4), CacheRead: cost(5), CacheWrite: cost(6)}
	}
	return m
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("catwalk: the table: %v", err))
	}
	return v
}
