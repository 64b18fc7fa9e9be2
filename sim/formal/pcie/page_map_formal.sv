// page_map gives each TLP the address that the table has for its page, and says of each that has none why. One entry is followed, any: what was
// written into it last is what the TLPs of its page get. What leaves the skid buffer has a copy here in both stages.
module page_map_formal
  import pcie_pkg::*;
#(
    parameter int unsigned Entries = 8,

    localparam int unsigned IndexW = $clog2(Entries)
) (
    input logic clk,
    input logic rst,

    input logic [     4:0]   page_log2_i,
    input logic [IndexW:0]   pages_i,
    input logic              write_i,
    input logic [IndexW-1:0] index_i,
    input entry_t            entry_i,

    input tlp_t m_axis_tlp_tdata,
    input logic m_axis_tlp_tvalid,
    input logic m_axis_tlp_tready,

    // Inside
    input tlp_t         tlp,
    input logic         tlp_valid,
    input logic         ask_ready,
    input logic         find_ready,
    input logic         asked_valid_q,
    input tlp_t         asked_q,
    input entry_t       entry_q,
    input logic         beyond_q,
    input logic [25:0]  page_q,
    input logic [ 9:0]  is_q,
    input logic [ 8:0]  inner_q,
    input entry_t       memory[Entries]
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW($bits(tlp_t))
  ) u_hold (
      .clk,
      .rst,
      .tdata_i (m_axis_tlp_tdata),
      .tvalid_i(m_axis_tlp_tvalid),
      .tready_i(m_axis_tlp_tready)
  );

  // The ring does not change while TLPs are under way: here never.
  logic [4:0] any_log2;
  logic [IndexW:0] any_pages;

  always_ff @(posedge clk) begin
    any_log2 <= any_log2;
    any_pages <= any_pages;
  end

  always_comb assume (page_log2_i == any_log2 && any_log2 >= 5'd12 && any_log2 <= 5'd21);
  always_comb assume (pages_i == any_pages && 32'(any_pages) <= Entries);

  // The entry that is followed.
  logic [IndexW-1:0] any_index;
  entry_t entry_now_q;

  initial entry_now_q = '0;

  always_ff @(posedge clk) begin
    any_index <= any_index;
    if (write_i && index_i == any_index) entry_now_q <= entry_i;
  end

  function automatic logic [25:0] page_of(input tlp_t of);
    return 26'(of.request.address[37:12] >> (any_log2 - 5'd12));
  endfunction

  // Copies of both stages, and what the entry was when they asked.
  tlp_t asked_tlp_q, found_tlp_q, expected;
  entry_t asked_entry_q, found_entry_q;
  logic [25:0] page;

  always_ff @(posedge clk) begin
    if (ask_ready) begin
      asked_tlp_q <= tlp;
      asked_entry_q <= entry_now_q;
    end
    if (find_ready) begin
      found_tlp_q <= asked_tlp_q;
      found_entry_q <= asked_entry_q;
    end
  end

  always_comb begin
    page = page_of(found_tlp_q);
    expected = found_tlp_q;
    expected.request.address = 64'({found_entry_q.number, found_tlp_q.request.address[11:0]});
    for (int unsigned k = 12; k < 21; k++) begin
      if (5'(k) < any_log2) expected.request.address[k] = found_tlp_q.request.address[k];
    end
    if (found_tlp_q.status == OK) begin
      if (found_tlp_q.request.address[63:38] != '0 || page >= 26'(any_pages)) expected.status = OUTSIDE;
      else if (^found_entry_q) expected.status = BAD_PARITY;
      else if (!found_entry_q.present) expected.status = NO_PAGE;
    end
  end

  always_comb begin
    i_memory : assert (memory[any_index] == entry_now_q);
    if (!rst) begin
      if (m_axis_tlp_tvalid && IndexW'(page) == any_index) begin
        a_found : assert (m_axis_tlp_tdata == expected);
      end
      if (m_axis_tlp_tvalid && found_tlp_q.status != OK) begin
        a_status : assert (m_axis_tlp_tdata.status == found_tlp_q.status);
      end
      if (m_axis_tlp_tvalid && page >= 26'(any_pages)) a_outside : assert (m_axis_tlp_tdata.status != OK);

      // For the induction: what the registers are.
      i_size : assert (is_q == 10'd1 << (any_log2 - 5'd12) && inner_q == 9'((10'd1 << (any_log2 - 5'd12)) - 1'b1));
      if (asked_valid_q) begin
        i_asked : assert (asked_q == asked_tlp_q && page_q == page_of(asked_tlp_q));
        i_beyond : assert (beyond_q == (asked_tlp_q.request.address[63:38] != '0));
        if (IndexW'(page_q) == any_index) i_entry : assert (entry_q == asked_entry_q);
      end
    end
  end

  logic unused;
  assign unused = tlp_valid;

endmodule

bind page_map page_map_formal #(
    .Entries(Entries)
) u_formal (
    .*
);
