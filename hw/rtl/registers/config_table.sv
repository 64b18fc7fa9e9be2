// A table that software writes word by word and the core reads entry by entry. All zero as the FPGA powers up, no reset.
// Software reads a copy in block memory: what it wrote last, also where that is not in force yet.
// Whether an entry is in the table is kept by every GROUP words for themselves, so that none drives more; all copies are always equal.
module config_table #(
    parameter int unsigned Entries = 16,
    parameter int unsigned Words = 8,  // of 32 bits, in an entry
    parameter int unsigned Held = Words,  // this word comes into force when the next one is written; Words: none
    parameter int unsigned Copies = 1,  // of the core's index, always equal, each for a part of the words

    localparam int unsigned WORD_W = $clog2(Words)
) (
    input logic clk,

    // Software. Outside the table writes do nothing and reads give 0. A write is in force two cycles later.
    input  logic              write_i,
    input  logic [       7:0] index_i,
    input  logic [WORD_W-1:0] word_i,
    input  logic [      31:0] data_i,
    output logic [      31:0] data_o,   // a cycle after its index

    // The core. Outside the table all words are 0.
    input  logic [Copies-1:0][ 7:0] entry_index_i,
    output logic [ Words-1:0][31:0] entry_o         // a cycle after its index
);

  if (Entries < 1 || Entries > 256) begin : gen_check_entries
    $error("%m: Entries = %0d must be 1 to 256", Entries);
  end
  if (Words < 2 || Held == Words - 1 || Held > Words) begin : gen_check_words
    $error("%m: Words = %0d must be 2 or more, and Held = %0d have a word behind it", Words, Held);
  end

  localparam int unsigned INDEX_W = Entries > 1 ? $clog2(Entries) : 1;
  localparam int unsigned GROUP = 4;
  localparam int unsigned GROUPS = (Words + GROUP - 1) / GROUP;

  typedef logic [INDEX_W-1:0] index_t;

  logic known, entry_known;

  assign known = 9'(index_i) < 9'(Entries) && (WORD_W + 1)'(word_i) < (WORD_W + 1)'(Words);
  assign entry_known = 9'(entry_index_i[0]) < 9'(Entries);

  // A write, a cycle later: what it means for each word is known then.
  logic copies_q = 1'b0;
  logic [Words-1:0] writes_q = '0;
  index_t index_q;
  logic [WORD_W-1:0] word_q;
  logic [31:0] written_q;

  always_ff @(posedge clk) begin
    copies_q <= write_i && known;
    for (int unsigned w = 0; w < Words; w++) writes_q[w] <= write_i && known && word_i == WORD_W'(w);
    index_q <= index_t'(index_i);
    word_q <= word_i;
    written_q <= data_i;
  end

  logic [31:0] copy[Entries << WORD_W] = '{default: '0};
  logic [31:0] data_q;
  logic known_q;

  always_ff @(posedge clk) begin
    if (copies_q) copy[{index_q, word_q}] <= written_q;
    data_q  <= copy[{index_t'(index_i), word_i}];
    known_q <= known;
  end

  assign data_o = known_q ? data_q : '0;

  (* keep, dont_merge *)logic [GROUPS-1:0] knows_q = '0;  // entry_o is of an entry in the table

  always_ff @(posedge clk) begin
    for (int unsigned g = 0; g < GROUPS; g++) if (knows_q[g] != entry_known) knows_q[g] <= entry_known;
  end

  for (genvar w = 0; w < Words; w++) begin : gen_word
    logic [31:0] values[Entries] = '{default: '0};
    logic [31:0] value_q = '0;

    if (w == Held) begin : gen_held
      logic [31:0] waiting[Entries] = '{default: '0};

      always_ff @(posedge clk) begin
        if (writes_q[w]) waiting[index_q] <= written_q;
        if (writes_q[w+1]) values[index_q] <= waiting[index_q];
      end
    end else begin : gen_plain
      always_ff @(posedge clk) begin
        if (writes_q[w]) values[index_q] <= written_q;
      end
    end

    // What is 0 stays so while the entry is not in the table.
    always_ff @(posedge clk) begin
      if (entry_known || knows_q[w/GROUP]) value_q <= values[index_t'(entry_index_i[w*Copies/Words])];
      if (!entry_known && knows_q[w/GROUP]) value_q <= '0;
    end
    assign entry_o[w] = value_q;
  end

endmodule
