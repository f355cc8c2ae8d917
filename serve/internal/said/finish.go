package said

import "github.com/weftgo/weft/components/model"

// Finish says why the answer of a model ended.
type Finish int

// The reasons for which answers end.
const (
	Whole    Finish = iota // the model was done, or waits for the results of tools
	Cut                    // at its longest
	Filtered               // the rules of the provider ended it, or the model refused
	Broken                 // the provider paused, or failed, in the middle
)

// FinishOf returns the reason for which an answer ended, by the word of the provider. Answers with other words, or none,
// are taken for whole.
func FinishOf(word string) Finish {
	switch model.FinishOf(word) {
	case model.FinishLength, model.FinishContextLength:
		return Cut
	case model.FinishContentFilter, model.FinishRefusal:
		return Filtered
	case model.FinishError, model.FinishMalformed, model.FinishPaused:
		return Broken
	}
	return Whole
}
