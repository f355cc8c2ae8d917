package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// demoModel stands in for a language model where there is none: it picks tools by words in the question, and makes its
// answer of their results. The same question about the same directory always gets the same answer.
type demoModel struct{}

// Generate answers at once.
func (m *demoModel) Generate(
	_ context.Context, messages []*schema.Message, _ ...model.Option,
) (*schema.Message, error) {
	answer := m.plan(messages)
	answer.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop", Usage: usage(messages, answer)}
	return answer, nil
}

// Stream answers word by word.
func (m *demoModel) Stream(
	ctx context.Context, messages []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, messages)
	if err != nil {
		return nil, err
	}
	chunks := []*schema.Message{}
	for _, word := range strings.SplitAfter(answer.Content, " ") {
		chunks = append(chunks, schema.AssistantMessage(word, nil))
	}
	last := *answer
	last.Content = ""
	return schema.StreamReaderFromArray(append(chunks, &last)), nil
}

// usage counts tokens the way people estimate them: four letters each.
func usage(messages []*schema.Message, answer *schema.Message) *schema.TokenUsage {
	u := &schema.TokenUsage{CompletionTokens: len(answer.Content)/4 + 1}
	for _, m := range messages {
		u.PromptTokens += len(m.Content)/4 + 1
	}
	for _, c := range answer.ToolCalls {
		u.CompletionTokens += len(c.Function.Arguments)/4 + 1
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// plan calls tools for a new question and answers when their results are there.
func (m *demoModel) plan(messages []*schema.Message) *schema.Message {
	question := ""
	var results []*schema.Message
	for _, message := range messages {
		switch message.Role {
		case schema.User:
			question, results = message.Content, nil
		case schema.Tool:
			results = append(results, message)
		}
	}
	if len(results) == 0 {
		return schema.AssistantMessage("", planCalls(question))
	}
	var answer []string
	for _, result := range results {
		answer = append(answer, conclude(question, result))
	}
	return schema.AssistantMessage(strings.Join(answer, "\n"), nil)
}

var (
	quoted   = regexp.MustCompile("[\"'`“]([^\"'`”]+)[\"'`”]")
	fileName = regexp.MustCompile(`[\w./-]+\.[A-Za-z]{1,5}\b|\b(?:Makefile|LICENSE|README)\b`)
	asksFind = regexp.MustCompile(`(?i)\b(?:where|find|search|grep|who (?:calls|uses)|defined?)\b`)
	asksRead = regexp.MustCompile(`(?i)\b(?:read|show|open|print|what does|what is in|what's in)\b`)
	asksSize = regexp.MustCompile(`(?i)\b(?:how (?:large|big|many|long)|size|lines|largest|biggest|count)\b`)
	asksList = regexp.MustCompile(`(?i)\b(?:list|files|which directories|structure|layout)\b`)
	lastWord = regexp.MustCompile(`([\w.]+)\W*$`)
)

// planCalls picks tools by the words of the question.
func planCalls(question string) []schema.ToolCall {
	var calls []schema.ToolCall
	call := func(name string, arguments any) {
		text, _ := json.Marshal(arguments) // of strings: cannot fail
		calls = append(calls, schema.ToolCall{
			ID:       fmt.Sprintf("call_%d", len(calls)+1),
			Type:     "function",
			Function: schema.FunctionCall{Name: name, Arguments: string(text)},
		})
	}
	file := fileName.FindString(question)
	switch {
	case asksFind.MatchString(question):
		call("search", map[string]string{"pattern": regexp.QuoteMeta(searched(question))})
	case file != "" && asksRead.MatchString(question):
		call("read_file", map[string]string{"path": file})
	default:
		if asksSize.MatchString(question) || !asksList.MatchString(question) {
			call("count_lines", struct{}{})
		}
		if asksList.MatchString(question) || !asksSize.MatchString(question) {
			call("list_files", struct{}{})
		}
	}
	return calls
}

// searched is what a question looks for: something in quotes, or the last word.
func searched(question string) string {
	if m := quoted.FindStringSubmatch(question); m != nil {
		return m[1]
	}
	if m := lastWord.FindStringSubmatch(question); m != nil {
		return m[1]
	}
	return question
}

// conclude turns the result of a tool into a sentence that answers the question.
func conclude(question string, result *schema.Message) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(result.Content), "\n")
	switch result.ToolName {
	case "count_lines":
		largest := strings.Fields(rest)
		if len(largest) < 2 {
			return "There is no Go code here."
		}
		if lines, ok := linesOf(rest, question); ok {
			return lines
		}
		return fmt.Sprintf("The project has %s. The largest package is %s with %s lines.", first, largest[1], largest[0])
	case "list_files":
		return fmt.Sprintf("There are %s, among them %s.", first,
			strings.Join(strings.Fields(rest)[:min(5, len(strings.Fields(rest)))], ", "))
	case "search":
		if rest == "" {
			return "Nothing matches."
		}
		lines := strings.Split(rest, "\n")
		return fmt.Sprintf("There are %s. The first:\n%s", first, strings.Join(lines[:min(5, len(lines))], "\n"))
	case "read_file":
		lines := strings.Split(result.Content, "\n")
		return "It begins:\n" + strings.Join(lines[:min(12, len(lines))], "\n")
	}
	return result.Content
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
