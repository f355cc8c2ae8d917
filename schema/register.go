package schema

import (
	"encoding/gob"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/weftgo/weft/internal/serialization"
)

// RegisterName makes T a type that may stand behind an interface (any, in most cases) in what is persisted: in graph
// and agent state, in session values, in interrupt data, in Extra of a message. It registers T with encoding/gob and
// with the serializer of graph checkpoints. What is persisted refers to the type by its name, so it must never change.
//
// Call it in an init function or a package variable, with the type that is put into the interface:
//
//	func init() { schema.RegisterName[*MyState]("my_app_state") }
//
// Registering the same pair again does nothing. RegisterName panics if the name stands for another type or the type
// has another name already; for the graph serializer T and *T are one type. The types that the package registers
// itself under the default names of encoding/gob (see [Register]) may be given one more name. It is safe for
// concurrent use, also while values are being encoded.
func RegisterName[T any](name string) {
	if err := register(reflect.TypeFor[T](), name); err != nil {
		panic(err)
	}
}

// Register is [RegisterName] with a name made of the type: the import path and the name, with a * in front for a
// pointer; for unnamed types as map[string]any the Go type expression, in which named types have their import path.
//
// Registered already are the types of this package that messages and documents consist of, [ToolInfo], [ToolResult],
// time.Time, time.Duration, and the maps and slices of strings, numbers and any that Extra values and metadata often
// are.
func Register[T any]() {
	t := reflect.TypeFor[T]()
	if err := register(t, defaultName(t)); err != nil {
		panic(err)
	}
}

// register checks everything first: a failure leaves nothing behind.
func register(t reflect.Type, name string) error {
	if err := serialization.Check(t, name); err != nil {
		return err
	}
	if err := registerGob(t, name); err != nil {
		return err
	}
	return serialization.Register(t, name)
}

// registerGob registers t with gob, which knows no interfaces, and only one name of a type: the types of gobDefaults keep
// theirs.
func registerGob(t reflect.Type, name string) (err error) {
	if t.Kind() == reflect.Interface || gobDefaults[pointerBase(t)] {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cannot register %s under %q: %v", t, name, v)
		}
	}()
	gob.RegisterName(name, reflect.Zero(t).Interface())
	return nil
}

func pointerBase(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// defaultName is the name of [Register].
func defaultName(t reflect.Type) string {
	if t.Name() != "" {
		if t.PkgPath() == "" {
			return t.Name()
		}
		return t.PkgPath() + "." + t.Name()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + defaultName(t.Elem())
	case reflect.Slice:
		return "[]" + defaultName(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), defaultName(t.Elem()))
	case reflect.Map:
		return "map[" + defaultName(t.Key()) + "]" + defaultName(t.Elem())
	}
	return t.String()
}

// gobDefaults are types that gob knows under its own names, because people put them into any without thinking of it.
var gobDefaults = map[reflect.Type]bool{}

func registerDefault(value any) {
	t := reflect.TypeOf(value)
	gobDefaults[t] = true
	serialization.Share(t)
	if t.Name() != "" {
		if err := serialization.Register(t, defaultName(t)); err != nil {
			panic(err)
		}
	}
	defer func() { _ = recover() }() // the program has registered it already, under a name of its own: so gob knows it
	gob.Register(value)
}

func init() {
	registerMessages()
	for _, value := range []any{
		map[string]any{}, []any{}, []map[string]any{}, map[string]string{}, map[int]float64{}, []*Document{},
		time.Time{}, time.Duration(0), stdjson.Number(""), stdjson.RawMessage{}, ToolInfo{}, ToolResult{},
	} {
		registerDefault(value)
	}
	serialization.RegisterCopy(copyParams)
	serialization.RegisterTypedPart(func(t *ToolInfo) *map[string]any { return &t.Extra })
}

// registerMessages registers the types that messages consist of. The names are part of what is persisted.
func registerMessages() {
	RegisterName[*Message]("_eino_message")
	RegisterName[[]*Message]("_eino_message_slice")
	RegisterName[*AgenticMessage]("_eino_agentic_message")
	RegisterName[[]*AgenticMessage]("_eino_agentic_message_slice")
	RegisterName[Document]("_eino_document")
	RegisterName[RoleType]("_eino_role_type")
	RegisterName[ToolCall]("_eino_tool_call")
	RegisterName[FunctionCall]("_eino_function_call")
	RegisterName[ResponseMeta]("_eino_response_meta")
	RegisterName[TokenUsage]("_eino_token_usage")
	RegisterName[PromptTokenDetails]("_eino_prompt_token_details")
	RegisterName[LogProbs]("_eino_log_probs")

	RegisterName[ChatMessagePart]("_eino_chat_message_part")
	RegisterName[ChatMessagePartType]("_eino_chat_message_type")
	RegisterName[ChatMessageImageURL]("_eino_chat_message_image_url")
	RegisterName[ChatMessageAudioURL]("_eino_chat_message_audio_url")
	RegisterName[ChatMessageVideoURL]("_eino_chat_message_video_url")
	RegisterName[ChatMessageFileURL]("_eino_chat_message_file_url")

	RegisterName[MessagePartCommon]("_eino_message_part_common")
	RegisterName[ImageURLDetail]("_eino_image_url_detail")
	RegisterName[MessageInputPart]("_eino_message_input_part")
	RegisterName[MessageInputImage]("_eino_message_input_image")
	RegisterName[MessageInputAudio]("_eino_message_input_audio")
	RegisterName[MessageInputVideo]("_eino_message_input_video")
	RegisterName[MessageInputFile]("_eino_message_input_file")
	RegisterName[MessageOutputPart]("_eino_message_output_part")
	RegisterName[MessageOutputImage]("_eino_message_output_image")
	RegisterName[MessageOutputAudio]("_eino_message_output_audio")
	RegisterName[MessageOutputVideo]("_eino_message_output_video")
}

// copyParams copies what other packages cannot see into.
func copyParams(dst, src *ParamsOneOf) (err error) {
	if dst.params, err = serialization.Copy(src.params); err != nil {
		return err
	}
	if src.raw != nil {
		dst.raw = &rawSchema{text: src.raw.text}
	}
	dst.schema, err = serialization.Copy(src.schema)
	return err
}
