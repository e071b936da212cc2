// From the bytes of a PDF to its text.

export async function readPdf() {
  throw new Error("PDF files are not read, expected their text (hint: pdftotext)");
}
