// Turns the ring's address of a TLP into the bus's, by a table with an entry for each page of the ring: a table and no cache, so nothing
// is ever missed. Two cycles, one TLP a cycle. A TLP lies in one page, as none crosses 4 KiB. Where there is no page, or its entry is
// damaged, the TLP passes with that as its status. The table is all zero, no page present, as the FPGA powers up, and has no reset.
module page_map
  import pcie_pkg::*;
#(
    parameter int unsigned Entries = 8192,

    localparam int unsigned IndexW = $clog2(Entries)
) (
    input logic clk,
    input logic rst,

    // The ring: while none of its TLPs is under way
    input logic [     4:0] page_log2_i,  // 12 to 21
    input logic [IndexW:0] pages_i,      // of the ring; behind them nothing is written

    // Software writes an entry
    input logic              write_i,
    input logic [IndexW-1:0] index_i,
    input entry_t            entry_i,

    input  tlp_t s_axis_tlp_tdata,
    input  logic s_axis_tlp_tvalid,
    output logic s_axis_tlp_tready,

    output tlp_t m_axis_tlp_tdata,
    output logic m_axis_tlp_tvalid,
    input  logic m_axis_tlp_tready
);

  if (Entries < 2 || Entries > 131072 || (Entries & (Entries - 1)) != 0) begin : gen_check
    $error("%m: Entries = %0d must be a power of two, 2 to 131072", Entries);
  end

  localparam int unsigned LOG2 = 12;  // of the smallest page
  localparam int unsigned SIZES = 10;  // of pages, up to 2 MiB
  localparam int unsigned PAGE_W = OFFSET_W - LOG2;

  typedef logic [PAGE_W-1:0] page_t;

  tlp_t tlp, asked_q, found_q;
  logic tlp_valid, asked_valid_q, found_valid_q, ask_ready, find_ready, beyond_q;
  page_t page, page_q;

  axis_skid #(
      .DataW($bits(tlp_t))
  ) u_skid (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_tlp_tdata),
      .s_axis_tvalid(s_axis_tlp_tvalid),
      .s_axis_tready(s_axis_tlp_tready),
      .m_axis_tdata (tlp),
      .m_axis_tvalid(tlp_valid),
      .m_axis_tready(ask_ready)
  );

  assign ask_ready = !asked_valid_q || find_ready;
  assign find_ready = !found_valid_q || m_axis_tlp_tready;

  // Ask: which page of the ring.
  logic [SIZES-1:0] is_q;  // the size of pages, one hot
  entry_t memory[Entries] = '{default: '0};
  entry_t entry_q;

  always_comb begin
    page = '0;
    for (int unsigned k = 0; k < SIZES; k++) if (is_q[k]) page |= page_t'(tlp.request.address[OFFSET_W-1:LOG2] >> k);
  end

  always_ff @(posedge clk) begin
    for (int unsigned k = 0; k < SIZES; k++) is_q[k] <= page_log2_i == 5'(LOG2 + k);
    if (write_i) memory[index_i] <= entry_i;
    if (ask_ready) begin
      entry_q <= memory[IndexW'(page)];
      page_q <= page;
      beyond_q <= tlp.request.address[63:OFFSET_W] != '0;
      asked_q <= tlp;
      asked_valid_q <= tlp_valid;
    end
    if (rst) asked_valid_q <= 1'b0;
  end

  // Find: its address. Bits of the address within the page are the ring's.
  tlp_t found;
  logic [SIZES-2:0] inner_q;  // address bit 12 + k lies within the page

  always_comb begin
    found = asked_q;
    found.request.address = 64'({entry_q.number, asked_q.request.address[LOG2-1:0]});
    for (int unsigned k = 0; k < SIZES - 1; k++) begin
      if (inner_q[k]) found.request.address[LOG2+k] = asked_q.request.address[LOG2+k];
    end
    if (asked_q.status == OK) begin
      if (beyond_q || page_q >= page_t'(pages_i)) found.status = OUTSIDE;
      else if (^entry_q) found.status = BAD_PARITY;
      else if (!entry_q.present) found.status = NO_PAGE;
    end
  end

  always_ff @(posedge clk) begin
    for (int unsigned k = 0; k < SIZES - 1; k++) inner_q[k] <= page_log2_i > 5'(LOG2 + k);
    if (find_ready) begin
      found_q <= found;
      found_valid_q <= asked_valid_q;
    end
    if (rst) found_valid_q <= 1'b0;
  end

  assign m_axis_tlp_tdata  = found_q;
  assign m_axis_tlp_tvalid = found_valid_q;

endmodule
