#include "device/observe/race_marks.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace morgana::device {
namespace {

// Of a launch: 64 KiB of memory each, for which 27 KiB are kept; and rows of 256 bytes, for which 2 KiB are.
constexpr size_t kMostPages = 50'000, kMostSpreadRows = 600'000;
// Records, at least and for each mark that there may be, before the unused ones are looked for.
constexpr size_t kLeastRecords = 1 << 14, kRecordsOfRow = 8;

// What launches have left, for those that follow: memory that is fresh from the system costs more than the
// check.
template <class T>
class Spare {
 public:
  std::unique_ptr<T> take() {
    std::lock_guard lock(mutex_);
    if (kept_.empty()) return nullptr;
    std::unique_ptr<T> last = std::move(kept_.back());
    kept_.pop_back();
    bytes_ -= bytes_of(*last);
    return last;
  }
  void give(std::unique_ptr<T> one) {
    std::lock_guard lock(mutex_);
    if (bytes_ + bytes_of(*one) > kMostBytes) return;
    bytes_ += bytes_of(*one);
    kept_.push_back(std::move(one));
  }

 private:
  static constexpr size_t kMostBytes = 256 << 20;
  template <class One>
  static size_t bytes_of(const One&) {
    return sizeof(One);
  }
  template <class Each>
  static size_t bytes_of(const std::vector<Each>& all) {
    return sizeof all + all.capacity() * sizeof(Each);
  }
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> kept_;
  size_t bytes_ = 0;
};
using Records = std::vector<RaceRecord>;

// Never destroyed: other threads may end later.
template <class T>
Spare<T>& spare() {
  static Spare<T>& all = *new Spare<T>;
  return all;
}

// Of the dword that lies `at` behind the line's first.
RaceMark mark_in(const RaceMark& line, uint32_t at) {
  RaceMark mark = line;
  mark.lane = static_cast<uint8_t>(lane_at(line.lane, at, line.dwords));
  return mark;
}

}  // namespace

RaceMarks::RaceMarks() {
  if (std::unique_ptr<Records> records = spare<Records>().take()) records_ = std::move(*records);
  if (records_.empty()) records_.resize(kLeastRecords);
  records_[0] = {};
  admit();
}

RaceMarks::~RaceMarks() {
  spare<Records>().give(std::make_unique<Records>(std::move(records_)));
  for (auto& [number, page] : pages_) {
    for (Row& row : page->rows)
      if (Dwords* const dwords = std::exchange(row.dwords, nullptr); dwords != nullptr)
        spare<Dwords>().give(std::unique_ptr<Dwords>(dwords));
    spare<Page>().give(std::move(page));
  }
}

void RaceMarks::place(std::vector<Row>& rows, std::vector<Dwords>& all) {
  if (all.size() < rows.size()) {
    if (const auto kept = spare<std::vector<Dwords>>().take()) all = std::move(*kept);
    if (all.size() < rows.size()) all.resize(rows.size());
  }
  for (size_t i = 0; i < rows.size(); i++) rows[i].dwords = &all[i];
}

void RaceMarks::give_back(std::vector<Dwords>&& all) {
  spare<std::vector<Dwords>>().give(std::make_unique<std::vector<Dwords>>(std::move(all)));
}

RaceMarks::Page* RaceMarks::find(uint64_t number) {
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) {
    if (pages_.size() > kMostPages) {
      pages_.erase(number);
      return nullptr;
    }
    page = spare<Page>().take();
    if (page == nullptr)
      page = std::make_unique<Page>();
    else
      std::ranges::for_each(page->rows, clear);
    page->load = page->store = {};
  }
  launch_.near[number % launch_.near.size()] = {number, page.get()};
  return page.get();
}

RaceMarks::Dwords* RaceMarks::make_dwords(Row& row) {
  if (row.dwords == nullptr) {
    if (spread_rows_ == kMostSpreadRows) return nullptr;
    spread_rows_++;
    std::unique_ptr<Dwords> kept = spare<Dwords>().take();
    row.dwords = kept != nullptr ? kept.release() : new Dwords;
  }
  Dwords& dwords = *row.dwords;
  dwords.has_other = dwords.has_hidden = dwords.has_parts = false;
  std::ranges::fill(dwords.last, Dwords::Last{});
  for (uint32_t first = 0; first < kRowDwords; first += kLineDwords) {
    const uint32_t line = first / kLineDwords;
    const RaceMark &write = row.write[line], &read = row.read[line], &other = row.other[line];
    for (uint32_t at = 0; at < kLineDwords; at++) {
      if (write.record != 0) dwords.last[first + at].write = mark_in(write, at);
      if (read.record != 0) dwords.last[first + at].read = mark_in(read, at);
      if (other.record != 0) dwords.make_other(first + at) = mark_in(other, at);
    }
  }
  row.is_spread = true;
  return &dwords;
}

uint32_t RaceMarks::number_of(const RaceRecord& record) {
  if (launch_.count == records_.size()) {
    records_.resize(2 * records_.size());
    admit();
  }
  const uint32_t number = launch_.number_of(record, static_cast<uint32_t>(records_.size()));
  if (number + 1 == launch_.count) admit();
  return number;
}

// Of native code's records.
void RaceMarks::admit() {
  launch_.records = records_.data();
  launch_.most = static_cast<uint32_t>(std::min(records_.size(), limit()));
}

size_t RaceMarks::limit() const {
  const size_t rows = pages_.size() * Page::kRows + spread_rows_ * (kRowDwords / kLineDwords);
  return std::max({least_limit_, kLeastRecords, kRecordsOfRow * rows});
}

bool RaceMarks::is_crowded() const { return launch_.count > limit(); }

void RaceMarks::sweep(const std::vector<std::vector<Row>*>& others, const std::vector<RaceParts*>& parts) {
  std::vector<uint32_t> numbers(launch_.count);  // new ones, by old ones
  Records kept(1);
  const auto rename = [&](RaceMark& mark) {
    if (mark.record == 0) return;
    uint32_t& number = numbers[mark.record];
    if (number == 0) {
      number = static_cast<uint32_t>(kept.size());
      kept.push_back(records_[mark.record]);
    }
    mark.record = number;
  };
  const auto rename_row = [&](Row& row) {
    if (!row.is_spread) {
      for (Row::Marks* const marks : {&row.write, &row.read, &row.other})
        std::ranges::for_each(*marks, rename);
      return;
    }
    Dwords& dwords = *row.dwords;
    for (Dwords::Last& last : dwords.last) rename(last.write), rename(last.read);
    if (dwords.has_other) std::ranges::for_each(dwords.other, rename);
    if (dwords.has_hidden) std::ranges::for_each(dwords.hidden, rename);
  };
  for (auto& [number, page] : pages_) std::ranges::for_each(page->rows, rename_row);
  for (std::vector<Row>* const rows : others) std::ranges::for_each(*rows, rename_row);
  for (RaceParts* const all : parts)
    for (auto& [address, of_dword] : *all)
      for (RacePart& part : of_dword) rename(part.mark);
  std::ranges::copy(kept, records_.begin());
  launch_.count = static_cast<uint32_t>(kept.size());
  std::ranges::fill(launch_.recent, 0);
  least_limit_ = 2 * kept.size();
  admit();
}

}  // namespace morgana::device
