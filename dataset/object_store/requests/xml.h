// Reads the small XML documents of object stores: listings and errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace recordpipe {

// Reads a document from start to end, without a tree. The document comes from a server and may be
// hostile, so everything that can refer to other data or grow is refused: a DOCTYPE (and with it
// all entities but the five predefined ones and character references), more than 32 levels, a
// document that ends early. Attributes, comments and processing instructions are passed over.
// Memory: the text of one element, which is never longer than the document.
//
//   XmlReader xml(document);
//   while (xml.next()) {
//     if (xml.event() == XmlReader::Event::end && xml.path() == "/Error/Code") code = xml.text();
//   }
class XmlReader {
 public:
  enum class Event { start, end };

  // `document` must outlive this object.
  explicit XmlReader(std::string_view document) : rest_(document) {}

  // Moves to the next start or end of an element. Returns false at the end of the document. Throws
  // Error{corrupted}, without a path.
  bool next();

  Event event() const { return event_; }
  // The elements that contain the event, itself included, by their names without prefixes:
  // "/ListBucketResult/Contents/Key".
  const std::string& path() const { return path_; }
  // At an end: the text of the element since the last start or end in it.
  const std::string& text() const { return text_; }

 private:
  bool take_markup();
  void take_start(std::string_view tag);
  void take_end(std::string_view tag);
  void take_text();
  // Removes and returns the text up to `end`, and `end`.
  std::string_view take_until(std::string_view end);

  std::string_view rest_;
  Event event_ = Event::start;
  std::string path_;
  std::string text_;
  size_t depth_ = 0;
  bool is_closed_ = false;         // path_ still names an element that has ended
  bool is_empty_element_ = false;  // <a/>: its end follows
  bool had_root_ = false;
};

}  // namespace recordpipe
