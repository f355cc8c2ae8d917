package said

// Finish says why the answer of a model ended.
type Finish int

// The reasons for which answers end.
const (
	Whole    Finish = iota // the model was done, or waits for the results of tools
	Cut                    // at its longest
	Filtered               // the rules of the provider ended it, or the model refused
	Broken                 // the provider paused, or failed, in the middle
)

// finishes has the words of providers. Answers with other words, or none, are taken for whole.
var finishes = map[string]Finish{
	"length": Cut, "max_tokens": Cut, "max_output_tokens": Cut, "MAX_TOKENS": Cut, "model_length": Cut,
	"model_context_window_exceeded": Cut,
	"content_filter":                Filtered, "sensitive": Filtered, "refusal": Filtered, "SAFETY": Filtered, "RECITATION": Filtered,
	"BLOCKLIST": Filtered, "PROHIBITED_CONTENT": Filtered, "SPII": Filtered, "IMAGE_SAFETY": Filtered,
	"IMAGE_PROHIBITED_CONTENT": Filtered, "IMAGE_RECITATION": Filtered, "MODEL_ARMOR": Filtered, "JAILBREAK": Filtered,
	"error": Broken, "network_error": Broken, "insufficient_system_resource": Broken, "failed": Broken, "pause_turn": Broken,
	"compaction": Broken, "OTHER": Broken, "LANGUAGE": Broken, "MALFORMED_FUNCTION_CALL": Broken, "load": Broken, "unload": Broken,
}

// FinishOf is why an answer ended, by the word of the provider.
func FinishOf(word string) Finish { return finishes[word] }
