package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

// newDemoModel returns what stands in for a language model where there is none: it picks tools by words in the
// question, and makes its answer of their results. The same question about the same directory always gets the same
// answer.
func newDemoModel() model.BaseChatModel {
	return &demo.Model{Answer: func(_ context.Context, history []*schema.Message) (*schema.Message, error) {
		return planAnswer(history), nil
	}}
}

// planAnswer calls tools for a new question and answers when their results are there.
func planAnswer(history []*schema.Message) *schema.Message {
	question := ""
	var results []*schema.Message
	for _, message := range history {
		switch message.Role {
		case schema.User:
			question, results = message.Content, nil
		case schema.Tool:
			results = append(results, message)
		}
	}
	in := intentOf(question)
	if len(results) == 0 {
		if in.says != "" {
			return schema.AssistantMessage(in.says, nil)
		}
		return schema.AssistantMessage("", numbered(in.calls, 0))
	}
	last := results[len(results)-1]
	if more := in.next(last); more != nil && len(results) == len(in.calls) {
		return schema.AssistantMessage("", numbered(more, len(results)))
	}
	var answer []string
	for _, result := range results {
		if text := in.conclude(result); text != "" {
			answer = append(answer, text)
		}
	}
	return schema.AssistantMessage(strings.Join(answer, "\n"), nil)
}

func numbered(calls []schema.ToolCall, before int) []schema.ToolCall {
	for i := range calls {
		calls[i].ID = fmt.Sprintf("call_%d", before+i+1)
	}
	return calls
}

func call(name string, arguments any) schema.ToolCall {
	text, _ := json.Marshal(arguments) // of strings: cannot fail
	return demo.Call(name, string(text))
}

// An intent is what the demo model takes a question for.
type intent struct {
	question string
	says     string            // an answer without tools
	calls    []schema.ToolCall // or the tools to begin with
	defines  string            // the name whose definition is looked for
	mentions string            // or the text
}

var (
	greeting = regexp.MustCompile(`(?i)^\W*(?:hello|hi|hey|hiya|howdy|greetings|moin|hallo|hola|bonjour|` +
		`good (?:morning|day|afternoon|evening))\b[^?]{0,30}[!.?]*$`)
	thanks   = regexp.MustCompile(`(?i)^\W*(?:thanks|thank you|thx|bye|goodbye|ok|okay|great|cool|nice)\b[^?]{0,30}$`)
	asksSelf = regexp.MustCompile(`(?i)\b(?:who are you|what are you|are you (?:an?|real)|your name|what can you do|` +
		`what can I ask|how do you work|how are you)\b|^\W*help\W*$`)
	quoted   = regexp.MustCompile("[\"'`“]([^\"'`”]+)[\"'`”]")
	fileName = regexp.MustCompile(`[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,4}\b|\b(?:Makefile|Dockerfile|LICENSE|README)\b`)
	asksDef  = regexp.MustCompile(`(?i)\b(?:defined?|defines|declared?|declares|definition|implemented|implements)\b|` +
		`^\W*where(?:'s| is| are)\b`)
	asksFind = regexp.MustCompile(`(?i)\b(?:where|find|search(?: for)?|grep|look for|who (?:calls|uses)|which files?|` +
		`usages? of|uses of|used|mentions?|contains?)\b`)
	asksRead = regexp.MustCompile(`(?i)\b(?:read|show|open|print|cat|display|what does|what is in|what's in|explain|` +
		`describe|summari[sz]e|contents? of)\b`)
	asksSize = regexp.MustCompile(`(?i)\b(?:how (?:large|big|long)|how (?:many|much) (?:lines|code|go|packages)|sizes?|` +
		`lines|largest|biggest|count|packages?)\b`)
	asksList = regexp.MustCompile(`(?i)\b(?:list|ls|files?|director(?:y|ies)|folders?|structure|layout)\b`)
	asksMine = regexp.MustCompile(`(?i)\b(?:this|the|here|project|code|repo(?:sitory)?|module|tree)\b`)
	codeWord = regexp.MustCompile(`[A-Za-z_][\w.]*[a-z0-9_][A-Z]\w*|[A-Za-z]\w*_\w+|\b[A-Z]\w*[a-z]\w*\.\w+|\b\w+\(\)|` +
		`\b[a-z]\w*\.[A-Z]\w*`)
	anyWord = regexp.MustCompile(`[\w.]*\w`)
)

// fillers are words that are not searched for.
var fillers = strings.Fields("a an and any are all called calls can code contains contain declared declare defined define " +
	"defines definition do does file files find for function grep have here i implemented implements in is it look " +
	"mention mentioned mentions me method of or please project search show string tell text the there this to type use " +
	"used uses usage variable constant what where which who word you")

const abilities = "I can list files, show one, count the lines of Go code, and find text and definitions. " +
	"For example: \"How large is this project?\", \"where is main defined?\", \"show me README.md\"."

const noModel = "To talk to a real model, set OPENAI_API_KEY or the key of another provider."

// intentOf sorts a question by its words.
func intentOf(question string) *intent {
	in := &intent{question: question}
	file, name := fileName.FindString(question), searched(question)
	switch {
	case strings.TrimSpace(question) == "", asksSelf.MatchString(question):
		in.says = "I am the built-in demo model: a few rules instead of a language model. " + abilities + "\n" + noModel
	case greeting.MatchString(question):
		in.says = "Hello! I am the built-in demo model of this example. " + abilities
	case thanks.MatchString(question):
		in.says = "You are welcome."
	case file != "" && asksRead.MatchString(question):
		in.calls = []schema.ToolCall{call("read_file", map[string]string{"path": file})}
	case file != "" && strings.Contains(file, ".") && !quoted.MatchString(question) && !strings.HasSuffix(name, "()") &&
		(asksFind.MatchString(question) || asksDef.MatchString(question)) && looksLikeFile(file):
		in.calls = []schema.ToolCall{call("list_files", map[string]string{"name": file})}
	case name != "" && asksDef.MatchString(question):
		in.defines = strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "()")
		in.calls = []schema.ToolCall{call("search", map[string]string{"pattern": definitionOf(in.defines)})}
	case name != "" && asksFind.MatchString(question):
		in.mentions = name
		in.calls = []schema.ToolCall{call("search", map[string]string{"pattern": regexp.QuoteMeta(name)})}
	case asksSize.MatchString(question):
		in.calls = []schema.ToolCall{call("count_lines", struct{}{})}
	case asksList.MatchString(question):
		in.calls = []schema.ToolCall{call("list_files", struct{}{})}
	case asksRead.MatchString(question) && asksMine.MatchString(question):
		in.calls = []schema.ToolCall{call("count_lines", struct{}{}), call("list_files", struct{}{})}
	default:
		in.says = "I do not know that: I am the built-in demo model, a few rules instead of a language model. " +
			abilities + "\n" + noModel
	}
	return in
}

// looksLikeFile tells main.go from schema.Message.
func looksLikeFile(name string) bool {
	ext := path.Ext(name)
	return ext == strings.ToLower(ext)
}

// searched returns the text that a question looks for: something in quotes, a word that looks like code, or else the
// last word.
func searched(question string) string {
	if m := quoted.FindStringSubmatch(question); m != nil {
		return m[1]
	}
	if found := codeWord.FindAllString(question, -1); found != nil {
		return found[len(found)-1]
	}
	words := anyWord.FindAllString(question, -1)
	for _, word := range slices.Backward(words) {
		if !slices.Contains(fillers, strings.ToLower(word)) {
			return word
		}
	}
	return ""
}

// definitionOf is a pattern for the lines that define a name, in Go and in languages that look like it.
func definitionOf(name string) string {
	name = regexp.QuoteMeta(name)
	return `^\s*((export|pub|public|private|static|async|default) )*` +
		`(func|func \([^)]*\)|type|var|const|let|class|def|fn|function|struct|enum|interface) ` + name + `\b` +
		`|^\s+` + name + `( [\w.*\[\]]+)? = `
}

// next returns the calls that come after those that the intent began with, if there are any.
func (in *intent) next(last *schema.Message) []schema.ToolCall {
	switch {
	case in.defines != "" && foundNothing(last):
		return []schema.ToolCall{call("search", map[string]string{"pattern": `\b` + regexp.QuoteMeta(in.defines) + `\b`})}
	case last.ToolName == "count_lines" && strings.HasPrefix(last.Content, "0 lines"):
		return []schema.ToolCall{call("list_files", struct{}{})}
	}
	return nil
}

func foundNothing(result *schema.Message) bool { return strings.HasPrefix(result.Content, "0 ") }

// conclude turns the result of a tool into a sentence that answers the question.
func (in *intent) conclude(result *schema.Message) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(result.Content), "\n")
	lines := strings.FieldsFunc(rest, func(r rune) bool { return r == '\n' })
	switch {
	case !counts.MatchString(first) && result.ToolName != "read_file":
		return "The tool " + result.ToolName + " says: " + first
	case result.ToolName == "count_lines":
		return in.concludeCount(first, rest)
	case result.ToolName == "list_files":
		return concludeList(first, lines)
	case result.ToolName == "search":
		return in.concludeSearch(first, lines, result)
	}
	shown := strings.Split(result.Content, "\n")
	if strings.HasPrefix(first, "read_file failed: ") && len(shown) == 1 {
		return "I cannot read it: " + strings.TrimPrefix(first, "read_file failed: ")
	}
	return "It begins:\n" + strings.Join(shown[:min(12, len(shown))], "\n")
}

var counts = regexp.MustCompile(`^\d+ `)

func (in *intent) concludeCount(first, rest string) string {
	largest := strings.Fields(rest)
	if strings.HasPrefix(first, "0 ") || len(largest) < 2 {
		return "There is no Go code here."
	}
	if lines, ok := linesOf(rest, in.question); ok {
		return lines
	}
	return fmt.Sprintf("The project has %s. The largest package is %s with %s lines.", first, largest[1], largest[0])
}

func concludeList(first string, lines []string) string {
	is := "are"
	if strings.HasPrefix(first, "1 ") {
		is = "is"
	}
	if len(lines) == 0 {
		return fmt.Sprintf("There %s %s.", is, first)
	}
	if is == "is" {
		return fmt.Sprintf("There is %s: %s.", first, lines[0])
	}
	return fmt.Sprintf("There are %s, among them %s.", first, strings.Join(lines[:min(5, len(lines))], ", "))
}

func (in *intent) concludeSearch(first string, lines []string, result *schema.Message) string {
	none := foundNothing(result)
	shown := strings.Join(lines[:min(5, len(lines))], "\n")
	switch {
	case in.mentions != "" && none:
		return fmt.Sprintf("Nothing here contains %q.", in.mentions)
	case in.mentions != "":
		return fmt.Sprintf("There %s. The first:\n%s", was(first), shown)
	case none && result.ToolCallID == "call_1":
		return fmt.Sprintf("I find no definition of %s here.", in.defines)
	case none:
		return "Nothing mentions it, either."
	case result.ToolCallID == "call_1" && len(lines) == 1:
		place, code, _ := strings.Cut(lines[0], ": ")
		return fmt.Sprintf("%s is defined in %s:\n    %s", in.defines, place, code)
	case result.ToolCallID == "call_1":
		return fmt.Sprintf("%s is defined in more than one place:\n%s", in.defines, shown)
	}
	return fmt.Sprintf("It is mentioned, though: there %s. The first:\n%s", was(first), shown)
}

func was(counted string) string {
	if strings.HasPrefix(counted, "1 ") {
		return "is " + counted
	}
	return "are " + counted
}

// linesOf says how large the packages are that the question names.
func linesOf(counts, question string) (answer string, ok bool) {
	asked := strings.FieldsFunc(question, func(r rune) bool { return strings.ContainsRune(" \t\n,;:?!\"'`()", r) })
	var all []string
	for line := range strings.Lines(counts) {
		if f := strings.Fields(line); len(f) == 2 && slices.Contains(asked, f[1]) {
			all = append(all, fmt.Sprintf("Package %s has %s lines.", f[1], f[0]))
		}
	}
	return strings.Join(all, " "), len(all) > 0
}
