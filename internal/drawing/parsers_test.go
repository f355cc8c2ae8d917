package drawing

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The parsers of the languages are packages of npm: "make pictures" installs them and runs the tests below.
const (
	root    = "../.."
	parsers = root + "/tools/pictures"
)

type source struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	from string
}

type parsed struct {
	Error  string            `json:"error"`
	Nodes  map[string]string `json:"nodes"`
	Groups map[string]string `json:"groups"`
	Edges  [][3]string       `json:"edges"`
}

// parse has the parsers read pictures.
func parse(t *testing.T, sources []source) []parsed {
	t.Helper()
	if _, err := os.Stat(parsers + "/node_modules/mermaid"); err != nil {
		t.Skip("the parsers of Mermaid and Graphviz are not installed: make pictures")
	}
	in, err := json.Marshal(sources)
	require.NoError(t, err)
	cmd := exec.Command("node", "parse.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = parsers, bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []parsed
	require.NoError(t, json.Unmarshal(out, &all))
	require.Len(t, all, len(sources))
	for i, p := range all {
		if p.Error != "" {
			t.Errorf("%s: the parser says %s\n%s", sources[i].from, p.Error, sources[i].Text)
		}
	}
	return all
}

func TestParsers_ShowEveryTextAsItIs(t *testing.T) {
	texts := append([]string(nil), nasty...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		words := make([]string, 1+random.IntN(4))
		for i := range words {
			words[i] = nasty[random.IntN(len(nasty))]
		}
		texts = append(texts, strings.Join(words, string(rune(random.IntN(0x250)))))
	}
	p := picture(texts...)
	all := parse(t, []source{{Kind: "mermaid", Text: p.Mermaid()}, {Kind: "dot", Text: p.DOT()}})
	for kind, got := range map[string]parsed{"mermaid": all[0], "dot": all[1]} {
		nodes := append(append([]Node(nil), p.Nodes...), p.Groups[0].Nodes...)
		require.Len(t, got.Nodes, len(nodes), kind)
		for _, n := range nodes {
			require.Equal(t, drawn(kind, n.Text), drawn(kind, []string{got.Nodes[n.ID]}), "%s: %q", kind, n.Text)
		}
		require.Len(t, got.Edges, len(p.Edges), kind)
		for i, e := range p.Edges {
			require.Equal(t, [3]string{e.From, e.To, drawn(kind, e.Text)},
				[3]string{got.Edges[i][0], got.Edges[i][1], drawn(kind, []string{got.Edges[i][2]})}, kind)
		}
		require.Equal(t, map[string]string{p.Groups[0].ID: "end"}, got.Groups, kind)
	}
}

// drawn is a text without what the tools do not draw, or leave out of what they say: spaces around it and empty lines.
func drawn(kind string, texts []string) string {
	var lines []string
	for _, line := range eachLine(texts) {
		if kind == "mermaid" {
			line = strings.Join(strings.Fields(line), " ")
		}
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

var mermaidBlock = regexp.MustCompile("(?s)```mermaid\n(.*?)```")

// TestParsers_ReadEveryPictureOfTheRepository: the pictures of the tests, and those in the documentation.
func TestParsers_ReadEveryPictureOfTheRepository(t *testing.T) {
	kinds := map[string]string{".mmd": "mermaid", ".dot": "dot"}
	var sources []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "node_modules" || strings.HasPrefix(name, ".") && name != ".." {
				return fs.SkipDir
			}
			return nil
		}
		kind, isPicture := kinds[filepath.Ext(name)]
		if !isPicture && filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if isPicture {
			sources = append(sources, source{kind, string(text), path})
		}
		for _, block := range mermaidBlock.FindAllSubmatch(text, -1) {
			sources = append(sources, source{"mermaid", string(block[1]), path})
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for i, p := range parse(t, sources) {
		require.NotEmpty(t, p.Nodes, sources[i].from)
	}
}
