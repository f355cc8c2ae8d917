package openai

// AssistantGenTextExtension holds OpenAI's additions to a text of the model.
type AssistantGenTextExtension struct {
	// Refusal is set when the model refused to answer.
	Refusal *OutputRefusal `json:"refusal,omitempty"`
	// Annotations say where the text comes from.
	Annotations []*TextAnnotation `json:"annotations,omitempty"`
}

// OutputRefusal is the model's explanation of why it does not answer.
type OutputRefusal struct {
	Reason string `json:"reason,omitempty"`
}

// TextAnnotation is a source of a text. Type says which of the pointers is set.
type TextAnnotation struct {
	// Index is the annotation's place in the finished list, while streaming.
	Index int                `json:"index,omitempty"`
	Type  TextAnnotationType `json:"type,omitempty"`

	FileCitation          *TextAnnotationFileCitation          `json:"file_citation,omitempty"`
	URLCitation           *TextAnnotationURLCitation           `json:"url_citation,omitempty"`
	ContainerFileCitation *TextAnnotationContainerFileCitation `json:"container_file_citation,omitempty"`
	FilePath              *TextAnnotationFilePath              `json:"file_path,omitempty"`
}

// TextAnnotationType says what kind of source a [TextAnnotation] is.
type TextAnnotationType string

// The kinds of annotations.
const (
	TextAnnotationTypeFileCitation          TextAnnotationType = "file_citation"
	TextAnnotationTypeURLCitation           TextAnnotationType = "url_citation"
	TextAnnotationTypeContainerFileCitation TextAnnotationType = "container_file_citation"
	TextAnnotationTypeFilePath              TextAnnotationType = "file_path"
)

// TextAnnotationFileCitation cites a file.
type TextAnnotationFileCitation struct {
	FileID   string `json:"file_id,omitempty"`
	Filename string `json:"filename,omitempty"`
	// Index is the index of the file in the list of files.
	Index int `json:"index,omitempty"`
}

// TextAnnotationURLCitation cites a web page for a range of the text.
type TextAnnotationURLCitation struct {
	Title      string `json:"title,omitempty"`
	URL        string `json:"url,omitempty"`
	StartIndex int    `json:"start_index,omitempty"`
	EndIndex   int    `json:"end_index,omitempty"`
}

// TextAnnotationContainerFileCitation cites a file of a container for a range of the text.
type TextAnnotationContainerFileCitation struct {
	ContainerID string `json:"container_id,omitempty"`
	FileID      string `json:"file_id,omitempty"`
	Filename    string `json:"filename,omitempty"`
	StartIndex  int    `json:"start_index,omitempty"`
	EndIndex    int    `json:"end_index,omitempty"`
}

// TextAnnotationFilePath points to a file that the model made.
type TextAnnotationFilePath struct {
	FileID string `json:"file_id,omitempty"`
	// Index is the index of the file in the list of files.
	Index int `json:"index,omitempty"`
}
