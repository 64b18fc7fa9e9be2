// tlp_split cuts each write into TLPs that follow each other without a gap, as long as they can be, and says of each how many payload
// beats it takes. What is looked at and counted has a copy here of the write that it is of; `done` are bytes in TLPs that were given.
module tlp_split_formal
  import pcie_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW  = DataW / 8,
    localparam int unsigned LanesW = $clog2(KeepW)
) (
    input logic clk,
    input logic rst,

    input mps_e                 mps_i,
    input logic [OFFSET_W-12:0] ring_i,

    input tlp_t m_axis_tlp_tdata,
    input logic m_axis_tlp_tvalid,
    input logic m_axis_tlp_tready,

    // Inside: what leaves the skid buffer, what is looked at, what is counted
    input write_t                write,
    input mps_e                  mps,
    input logic                  look_ready,
    input logic                  look_valid_q,
    input logic                  beyond_q,
    input logic                  empty_q,
    input logic [  OFFSET_W-1:0] at_q,
    input logic [    OFFSET_W:0] end_q,
    input logic [          32:0] extent_q,
    input logic [           8:0] single_q,
    input logic [           8:0] mask_q,
    input logic [           5:0] tail_q,
    input mps_e                  mps_q,
    input fence_t                look_fence_q,
    input logic                  count_ready,
    input logic                  valid_q,
    input logic                  first_q,
    input logic                  last_q,
    input logic                  refused_q,
    input logic [          26:0] more_q,
    input logic [  OFFSET_W-1:0] address_q,
    input logic [           8:0] ending_q,
    input logic [           8:0] opening_q,
    input logic [           8:0] last_alone_q,
    input logic [           8:0] full_q,
    input logic [           5:0] wait_q,
    input logic                  tail_held_q,
    input status_e               status_q,
    input logic                  empty_write_q,
    input logic [           5:0] payload_tail_q,
    input mps_e                  step_q,
    input fence_t                fence_q
);

  typedef logic [39:0] bytes_t;  // no sum below comes to more
  localparam bytes_t KEEP = bytes_t'(KeepW);

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

  always_comb assume (mps_i <= MPS_512 && mps <= MPS_512);
  always_comb assume (32'(ring_i) <= 1 << (OFFSET_W - 12));
  always_comb assume (!write.fence.read || write.length == 32'd1);

  // The writes that the two stages are of.
  write_t looked_q, counted_q;
  mps_e looked_mps_q, counted_mps_q;
  logic bad, bad_q;
  bytes_t done_q, length, begins, left, mask, room, size, lead, lanes, read_before, read_after;

  assign bad = looked_q.length == '0 || 65'(looked_q.offset) + 65'(looked_q.length) > {26'd0, ring_i, 12'd0};

  always_ff @(posedge clk) begin
    if (look_ready) begin
      looked_q <= write;
      looked_mps_q <= mps;
    end
    if (count_ready) begin
      counted_q <= looked_q;
      counted_mps_q <= looked_mps_q;
      bad_q <= bad;
      done_q <= '0;
    end else if (m_axis_tlp_tvalid && m_axis_tlp_tready) begin
      done_q <= done_q + size;
    end
  end

  function automatic bytes_t mask_of(input mps_e code);
    return (40'd128 << code) - 1'b1;
  endfunction

  // What the TLP must be.
  tlp_t tlp;
  logic [3:0] opens, closes;
  logic ends, single;

  function automatic bytes_t beats_of(input bytes_t bytes);
    return (bytes + bytes_t'(KEEP - 1'b1)) >> LanesW;
  endfunction

  always_comb begin
    tlp = m_axis_tlp_tdata;
    length = bytes_t'(counted_q.length);
    mask = mask_of(counted_mps_q);
    begins = bytes_t'(counted_q.offset[OFFSET_W-1:0]) + done_q;
    left = length - done_q;
    room = mask + 1'b1 - (begins & mask);
    size = left < room ? left : room;
    ends = left <= room;
    lead = begins & 40'd3;
    lanes = lead + size;  // from the first doubleword's first byte to the last one
    single = lanes <= 40'd4;
    opens = 4'b1111 << lead[1:0];
    closes = 4'b1111 >> (2'd0 - lanes[1:0]);
    read_before = beats_of(done_q);
    read_after = beats_of(done_q + size);
  end

  always_comb begin
    if (!rst && m_axis_tlp_tvalid) begin
      if (bad_q) begin
        a_refused : assert (tlp.refused && tlp.ends && tlp.status == (length == '0 ? BAD_LENGTH : OUTSIDE));
        a_empty : assert (tlp.empty == (length == '0 || counted_q.fence.read));
      end else begin
        a_served : assert (!tlp.refused && tlp.status == OK && tlp.ends == ends);
        a_address : assert (tlp.request.address == 64'(begins - lead));
        a_dwords : assert (40'(tlp.request.dwords) == (lanes + 40'd3) >> 2);
        a_crosses : assert ((begins & ~40'hFFF) == ((begins - lead + 4 * 40'(tlp.request.dwords) - 1) & ~40'hFFF));
        a_size : assert (4 * 40'(tlp.request.dwords) <= mask + 1'b1);
        a_fence : assert (tlp.request.fence == counted_q.fence);
        a_first_be : assert (tlp.request.first_be == (counted_q.fence.read ? 4'd0 : single ? opens & closes : opens));
        a_last_be : assert (tlp.request.last_be == (single ? 4'd0 : closes));
        a_beats : assert (40'(tlp.beats) == (lanes - 1) >> LanesW);
        a_earlier : assert (tlp.earlier == 6'(LanesW'(lead - done_q)));
        a_tail : assert (tlp.tail == 6'(LanesW'(length - 1)));
        if (!counted_q.fence.read) begin
          a_reads : assert (40'(tlp.beats) + 40'(tlp.reads_last) == read_after - read_before);
          a_final : assert (tlp.final_read == (read_after != read_before && read_after == beats_of(length)));
        end else begin
          a_reads_none : assert (!tlp.reads_last && tlp.beats == '0 && tlp.ends);
        end
      end
    end

    // For the induction: what the registers are.
    if (!rst && look_valid_q) begin
      i_look_at : assert (at_q == looked_q.offset[OFFSET_W-1:0] && beyond_q == (looked_q.offset[63:OFFSET_W] != '0));
      i_look_end : assert (40'(end_q) == 40'(at_q) + 40'(looked_q.length));
      i_look_empty : assert (empty_q == (looked_q.length == '0) && look_fence_q == looked_q.fence);
      i_look_mps : assert (mps_q == looked_mps_q && mps_q <= MPS_512 && 40'(mask_q) == mask_of(mps_q));
      i_look_extent : assert (extent_q == 33'(looked_q.length) + 33'(at_q[8:0] & mask_q) - 1'b1);
      i_look_single : assert (single_q == looked_q.length[8:0] + 9'(at_q[1:0]) - 1'b1);
      i_look_tail : assert (tail_q == 6'(LanesW'(looked_q.length - 1)));
      i_look_fence : assert (!looked_q.fence.read || looked_q.length == 32'd1);
    end
    if (!rst && valid_q) begin
      i_refused : assert (refused_q == bad_q && (!bad_q || last_q));
      i_status : assert (status_q == (length == '0 ? BAD_LENGTH : bad_q ? OUTSIDE : OK));
      i_empty : assert (empty_write_q == (length == '0 || counted_q.fence.read));
      i_fence : assert (fence_q == counted_q.fence && (!fence_q.read || length == 40'd1));
      if (!bad_q) begin
        i_mps : assert (step_q == counted_mps_q && step_q <= MPS_512 && 40'(full_q) == mask);
        i_inside : assert (counted_q.offset[63:OFFSET_W] == '0 && length != '0 && done_q < length &&
            40'(counted_q.offset[OFFSET_W-1:0]) + length <= 40'd1 << OFFSET_W);
        i_address : assert (40'(address_q) == begins);
        i_first : assert (first_q == (done_q == '0) && (first_q || (begins & mask) == '0));
        i_more : assert (40'(more_q) == ((begins & mask) + left - 1) >> (7 + step_q));
        i_ending : assert (40'(ending_q) == (((begins & mask) + left - 1) & mask));
        i_last : assert (last_q == (more_q == '0));
        i_opening : assert (opening_q == (counted_q.offset[8:0] & full_q));
        i_alone : assert (last_alone_q == counted_q.length[8:0] + 9'(counted_q.offset[1:0]) - 1'b1);
        i_wait : assert (wait_q == 6'(counted_q.offset[LanesW-1:0]));
        i_tail : assert (payload_tail_q == 6'(LanesW'(length - 1)));
        i_held : assert (tail_held_q == (ending_q < 9'(wait_q)));
      end
    end
  end

endmodule

bind tlp_split tlp_split_formal #(
    .DataW(DataW)
) u_formal (
    .*
);
