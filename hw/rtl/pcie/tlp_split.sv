// Cuts writes into TLPs, one a cycle: at multiples of Max_Payload_Size, so also at each of 4 KiB. With each goes where on the bus of the
// payload its bytes are. A write that cannot be served passes as one TLP with its status.
//
//   write -> look: where it ends -> count: one TLP after the other
module tlp_split
  import pcie_pkg::*;
#(
    parameter int unsigned DataW = 512
) (
    input logic clk,
    input logic rst,

    // Of the writes that are taken from now on
    input mps_e                mps_i,
    input logic [OFFSET_W-12:0] ring_i,  // the ring's length in units of 4 KiB

    input  write_t s_axis_write_tdata,
    input  logic   s_axis_write_tvalid,
    output logic   s_axis_write_tready,

    output tlp_t m_axis_tlp_tdata,
    output logic m_axis_tlp_tvalid,
    input  logic m_axis_tlp_tready
);

  if (DataW != 128 && DataW != 256 && DataW != 512) begin : gen_check
    $error("%m: DataW = %0d must be 128, 256 or 512", DataW);
  end

  localparam int unsigned LANES_W = $clog2(DataW / 8);
  localparam int unsigned LOG2 = 7;  // of the least Max_Payload_Size
  localparam int unsigned MPS_W = 9;  // bits of a place within the largest
  localparam int unsigned MORE_W = 34 - LOG2;

  typedef logic [MPS_W-1:0] place_t;
  typedef logic [OFFSET_W-1:0] offset_t;

  write_t write;
  logic [$bits(mps_e)-1:0] mps_bits;
  mps_e mps;
  logic write_valid, look_ready;

  axis_skid #(
      .DataW($bits(mps_e) + $bits(write_t))
  ) u_skid (
      .clk,
      .rst,
      .s_axis_tdata ({mps_i, s_axis_write_tdata}),
      .s_axis_tvalid(s_axis_write_tvalid),
      .s_axis_tready(s_axis_write_tready),
      .m_axis_tdata ({mps_bits, write}),
      .m_axis_tvalid(write_valid),
      .m_axis_tready(look_ready)
  );

  assign mps = mps_e'(mps_bits);

  // The bits of a place within a TLP's largest payload.
  function automatic place_t places(input mps_e size);
    return {size >= MPS_512, size >= MPS_256, LOG2'(127)};
  endfunction

  // Look: `extent` is the offset of the write's last byte from the multiple of Max_Payload_Size before its first; `single` the
  // same from its first doubleword.
  logic look_valid_q, beyond_q, empty_q, count_ready;
  offset_t at_q;
  logic [OFFSET_W:0] end_q;
  logic [32:0] extent_q;
  place_t single_q, mask_q;
  logic [5:0] tail_q;
  mps_e mps_q;
  fence_t look_fence_q;

  assign look_ready = !look_valid_q || count_ready;

  always_ff @(posedge clk) begin
    if (look_ready) begin
      look_valid_q <= write_valid;
      at_q <= offset_t'(write.offset);
      beyond_q <= write.offset[63:OFFSET_W] != '0;
      empty_q <= write.length == '0;
      end_q <= {1'b0, offset_t'(write.offset)} + (OFFSET_W + 1)'(write.length);
      extent_q <= 33'(write.length) + 33'(write.offset[MPS_W-1:0] & places(mps)) - 1'b1;
      single_q <= write.length[MPS_W-1:0] + place_t'(write.offset[1:0]) - 1'b1;
      tail_q <= 6'(LANES_W'(write.length[LANES_W-1:0] - 1'b1));
      mask_q <= places(mps);
      mps_q <= mps;
      look_fence_q <= write.fence;
    end
    if (rst) look_valid_q <= 1'b0;
  end

  // Count: the write under way. `more` are the TLPs behind this one.
  logic valid_q, first_q, last_q, refused, refused_q, outside, step;
  logic [MORE_W-1:0] more, more_q;
  offset_t address_q, next;
  place_t ending, ending_q, opening_q, last_alone_q, full_q;
  logic [5:0] wait_q;  // lanes of the payload's beat before, of all TLPs but the first
  logic tail_held, tail_held_q;  // the last TLP takes no payload beat: the one before has left it all
  status_e status_q;
  logic empty_write_q;
  fence_t fence_q;
  logic [5:0] payload_tail_q;
  mps_e step_q;

  assign ending = place_t'(extent_q) & mask_q;
  assign tail_held = ending < place_t'(at_q[LANES_W-1:0]);
  assign outside = beyond_q || end_q[OFFSET_W:12] > ring_i || (end_q[OFFSET_W:12] == ring_i && end_q[11:0] != '0);
  assign refused = empty_q || outside;

  always_comb begin
    more = MORE_W'(extent_q >> LOG2);
    if (mps_q >= MPS_256) more = MORE_W'(extent_q >> (LOG2 + 1));
    if (mps_q >= MPS_512) more = MORE_W'(extent_q >> (LOG2 + 2));
    next = address_q;
    next[OFFSET_W-1:LOG2] = (address_q[OFFSET_W-1:LOG2] & ~(OFFSET_W - LOG2)'(full_q >> LOG2)) +
        ((OFFSET_W - LOG2)'(1) << step_q);
    next[LOG2-1:0] = '0;
  end

  assign step = valid_q && m_axis_tlp_tready;
  assign count_ready = !valid_q || (step && last_q);

  always_ff @(posedge clk) begin
    if (count_ready) begin
      valid_q <= look_valid_q;
      first_q <= 1'b1;
      last_q <= refused || more == '0;
      refused_q <= refused;
      status_q <= empty_q ? BAD_LENGTH : outside ? OUTSIDE : OK;
      empty_write_q <= empty_q || look_fence_q.read;
      more_q <= more;
      address_q <= at_q;
      ending_q <= ending;
      opening_q <= place_t'(at_q) & mask_q;
      last_alone_q <= single_q;
      full_q <= mask_q;
      wait_q <= 6'(at_q[LANES_W-1:0]);
      tail_held_q <= tail_held;
      payload_tail_q <= tail_q;
      step_q <= mps_q;
      fence_q <= look_fence_q;
    end else if (step) begin
      first_q <= 1'b0;
      last_q <= more_q == MORE_W'(1);
      more_q <= more_q - 1'b1;
      address_q <= next;
    end
    if (rst) valid_q <= 1'b0;
  end

  // One TLP. `lanes`: of its last byte, counted from its first doubleword.
  place_t lanes;
  logic [1:0] lead, close;
  logic [3:0] opens, closes;
  logic [5:0] earlier;
  logic one;

  always_comb begin
    unique case ({
      first_q, last_q
    })
      2'b11:   lanes = last_alone_q;
      2'b10:   lanes = full_q ^ {opening_q[MPS_W-1:2], 2'b00};
      2'b01:   lanes = ending_q;
      default: lanes = full_q;
    endcase
  end

  assign lead = first_q ? opening_q[1:0] : 2'd0;
  assign close = last_q ? ending_q[1:0] : 2'd3;
  assign opens = 4'b1111 << lead;
  assign closes = 4'b1111 >> (2'd3 - close);
  assign one = lanes[MPS_W-1:2] == '0;
  assign earlier = first_q ? 6'(lead) : wait_q;

  assign m_axis_tlp_tvalid = valid_q;
  assign m_axis_tlp_tdata = '{
          status: status_q,
          refused: refused_q,
          empty: empty_write_q,
          ends: last_q,
          final_read: last_q ? first_q || !tail_held_q : tail_held_q && more_q == MORE_W'(1),
          tail: payload_tail_q,
          reads_last: !fence_q.read && 6'(lanes[LANES_W-1:0]) >= earlier,
          earlier: earlier,
          beats: 5'(lanes >> LANES_W),
          request: '{
              fence: fence_q,
              address: 64'({address_q[OFFSET_W-1:2], 2'b00}),
              dwords: 8'(lanes[MPS_W-1:2]) + 1'b1,
              last_be: one ? 4'd0 : closes,
              first_be: fence_q.read ? 4'd0 : one ? opens & closes : opens
          }
      };

endmodule
