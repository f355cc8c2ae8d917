package filesystem

import "context"

// MultiModalReader is a [Backend] that can show a model more than text.
type MultiModalReader interface {
	// MultiModalRead returns an image or PDF as parts, and any other file as text, like [Backend.Read].
	MultiModalRead(ctx context.Context, req *MultiModalReadRequest) (*MultiFileContent, error)
}

// MultiModalReadRequest asks for a file that may be an image or PDF.
type MultiModalReadRequest struct {
	ReadRequest
	// Pages asks for pages of a PDF: "3" or "1-10". "" is the whole document.
	Pages string
}

// FileContentPartType is the kind of a [FileContentPart].
type FileContentPartType string

const (
	// FileContentPartTypeImage is an image.
	FileContentPartTypeImage FileContentPartType = "image"
	// FileContentPartTypePDF is a PDF document.
	FileContentPartTypePDF FileContentPartType = "pdf"
)

// FileContentPart is an image or document.
type FileContentPart struct {
	Type FileContentPartType
	// MIMEType is the format of Data, such as "image/png".
	MIMEType string
	// Data is the raw content, not encoded.
	Data []byte
}

// MultiFileContent is the content of a file: text, or parts. If there are Parts, FileContent is ignored.
type MultiFileContent struct {
	*FileContent
	Parts []FileContentPart
}
