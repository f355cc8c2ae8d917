package aisdk

import "github.com/weftgo/weft/schema"

// maxFile is the greatest length of the data of a file in a message, in base64.
const maxFile = 4 << 20 / 3

// file is a part of a message that is no text. One that is too long, or has nothing to be had by, is named.
func file(m schema.MessagePartCommon) chunk {
	url := ""
	switch {
	case m.URL != nil:
		url = *m.URL
	case m.Base64Data != nil && len(*m.Base64Data) <= maxFile:
		url = "data:" + m.MIMEType + ";base64," + *m.Base64Data
	}
	if url != "" {
		return chunk{"type": "file", "url": url, "mediaType": m.MIMEType}
	}
	size := 0
	if m.Base64Data != nil {
		size = len(*m.Base64Data) / 4 * 3
	}
	return chunk{"type": "data-weft-file", "data": chunk{"mediaType": m.MIMEType, "bytes": size}}
}
