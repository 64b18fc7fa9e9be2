// Reads memory into a stream: each command (address, length) becomes AXI4 bursts and then one packet of `length` bytes.
// Any address, any length from 1 byte. Bursts of the next commands are issued while the data of the first still come.
// Data of a beat that came with an error are marked in tuser, and pass.
module mm2s
  import axi_pkg::*;
  import framelane_pkg::read_t;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Depth = 32,  // commands under way

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  read_t s_axis_cmd_tdata,
    input  logic  s_axis_cmd_tvalid,
    output logic  s_axis_cmd_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // bytes of this beat came with an error
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // AXI4 read master, one ID: data return in order
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata,

    output logic read_error_o  // pulse: a beat came with a response other than OKAY
);

  localparam int unsigned LANES_W = $clog2(KeepW);
  localparam int unsigned PAGE_W = 12 - LANES_W;  // index of a beat in 4 KiB, which no burst may cross
  localparam int unsigned MAX_W = PAGE_W < 8 ? PAGE_W : 8;  // log2 of the longest burst
  localparam int unsigned BEATS_W = 33 - LANES_W;
  localparam int unsigned STAGES = (LANES_W + 1) / 2;  // of the rotation, two bits of the offset each

  typedef logic [LANES_W-1:0] lane_t;

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end

  function automatic logic [BEATS_W-1:0] beats(input lane_t offset, input logic [31:0] length);
    return BEATS_W'((33'(length) + 33'(offset) + 33'(KeepW - 1)) >> LANES_W);
  endfunction

  // Address side: whole beats, cut at every multiple of the longest burst, which is also a cut at every 4 KiB.
  logic [63:0] address_q;
  logic [BEATS_W-1:0] unasked_q;  // beats of the command not yet asked for
  logic [MAX_W:0] room, burst;
  logic busy_q, push, info_ready, asked;

  assign room = (MAX_W + 1)'(1 << MAX_W) - (MAX_W + 1)'(address_q[LANES_W+:MAX_W]);
  assign burst = unasked_q < BEATS_W'(room) ? unasked_q[MAX_W:0] : room;
  assign asked = busy_q && m_axi_i.arready;
  assign s_axis_cmd_tready = !busy_q && info_ready;
  assign push = s_axis_cmd_tvalid && s_axis_cmd_tready;

  always_ff @(posedge clk) begin
    if (push) begin
      address_q <= s_axis_cmd_tdata.address;
      unasked_q <= beats(lane_t'(s_axis_cmd_tdata.address), s_axis_cmd_tdata.length);
      busy_q <= 1'b1;
    end else if (asked) begin
      address_q <= address_q + (64'(burst) << LANES_W);
      unasked_q <= unasked_q - BEATS_W'(burst);
      busy_q <= unasked_q != BEATS_W'(burst);
    end
    if (rst) busy_q <= 1'b0;
  end

  // Data side: what the memory gives, beside what its command says of it. `failed`: the bytes of this beat are wrong.
  typedef struct packed {
    logic             valid;
    logic             failed;
    logic             first;
    logic             last;
    lane_t            offset;
    logic [31:0]      length;
    logic [DataW-1:0] data;
  } beat_t;

  beat_t [STAGES:0] beat;  // [s]: rotated by the lowest 2 * s bits of the offset
  logic [31:0] length;
  lane_t offset;
  logic info_valid, take, first_q, last_in, en;
  logic [BEATS_W-1:0] in_left, in_left_q;

  axis_fifo #(
      .DataW(32 + LANES_W),
      .Depth(Depth)
  ) u_info (
      .clk,
      .rst,
      .s_axis_tdata ({s_axis_cmd_tdata.length, lane_t'(s_axis_cmd_tdata.address)}),
      .s_axis_tvalid(push),
      .s_axis_tready(info_ready),
      .m_axis_tdata ({length, offset}),
      .m_axis_tvalid(info_valid),
      .m_axis_tready(take && last_in)
  );

  assign m_axi_o = '{
          araddr: {address_q[63:LANES_W], LANES_W'(0)},
          arlen: 8'(burst - 1'b1),
          arsize: 3'(LANES_W),
          arburst: 2'b01,  // INCR
          arcache: 4'b0011,  // normal memory, not cacheable, bufferable
          arprot: 3'b000,
          arvalid: busy_q,
          rready: en && info_valid
      };

  assign in_left = first_q ? beats(offset, length) : in_left_q;
  assign last_in = in_left == BEATS_W'(1);
  assign take = m_axi_i.rvalid && en && info_valid;
  assign read_error_o = take && m_axi_i.rresp != 2'b00;
  assign beat[0] = '{
          valid: m_axi_i.rvalid && info_valid,
          failed: m_axi_i.rresp != 2'b00,
          first: first_q,
          last: last_in,
          offset: offset,
          length: length,
          data: m_axi_rdata
      };

  always_ff @(posedge clk) begin
    if (take) begin
      first_q   <= last_in;
      in_left_q <= in_left - 1'b1;
    end
    if (rst) first_q <= 1'b1;
  end

  // Rotation by the offset, so that the command's first byte comes to lane 0: two bits of it a stage.
  function automatic logic [DataW-1:0] rotated(input logic [DataW-1:0] data, input int unsigned lanes);
    return DataW'({data, data} >> (8 * (lanes % KeepW)));
  endfunction

  for (genvar s = 0; s < STAGES; s++) begin : gen_rotate
    logic [1:0] digit;
    assign digit = 2'(beat[s].offset >> (2 * s));

    always_ff @(posedge clk) begin
      if (en) begin
        beat[s+1] <= beat[s];
        for (int unsigned k = 0; k < 4; k++) begin
          if (digit == 2'(k)) beat[s+1].data <= rotated(beat[s].data, k << (2 * s));
        end
      end
      if (rst) beat[s+1].valid <= 1'b0;
    end
  end

  // Two beats make one: its lower lanes are of the earlier one, as far as the offset says. A first beat only waits, unless it is
  // all there is, or nothing is to be parted. What the last one leaves behind follows in a cycle of its own.
  beat_t now;
  logic [DataW-1:0] previous_q, data;
  logic [KeepW-1:0] earlier, keep;
  logic [31:0] left, left_q;  // bytes of the command not yet given, this beat's included
  logic whole, waits, rest_q, previous_failed_q, valid, failed, last, ready;

  assign now = beat[STAGES];
  assign whole = now.offset == '0 || (now.first && now.last);
  assign waits = now.first && !whole;
  assign en = ready && !rest_q;
  assign valid = rest_q || (now.valid && !waits);
  assign left = now.first && !rest_q ? now.length : left_q;
  assign last = left <= 32'(KeepW);
  assign keep = last ? ~(~KeepW'(0) << left[LANES_W:0]) : '1;
  assign earlier = rest_q ? '1 : whole ? '0 : ~(~KeepW'(0) << ((LANES_W + 1)'(KeepW) - (LANES_W + 1)'(now.offset)));
  assign failed = (now.failed && !rest_q) || (previous_failed_q && earlier != '0);

  always_comb begin
    for (int unsigned k = 0; k < KeepW; k++) data[8*k+:8] = earlier[k] ? previous_q[8*k+:8] : now.data[8*k+:8];
  end

  always_ff @(posedge clk) begin
    if (en && now.valid) begin
      previous_q <= now.data;
      previous_failed_q <= now.failed;
      left_q <= waits ? now.length : left - 32'(KeepW);
      rest_q <= now.last && !waits && !last;
    end
    if (ready && rest_q) rest_q <= 1'b0;
    if (rst) rest_q <= 1'b0;
  end

  axis_reg #(
      .DataW(DataW + KeepW + 2)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({failed, last, keep, data}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  logic unused;
  assign unused = m_axi_i.rlast;

endmodule
