// Reads the header of a detector's packets, and passes its pixels on: what it is about by its numbers, one head a packet, then its
// pixels from lane 0 on. The fields are those of the detector's description (docs/detectors/packets.md), as parameters.
// A packet whose header is wrong, or for which there is no room, leaves nothing. Whether one is whole is known with its last beat alone.
// For streams that cannot wait: a beat a cycle, no bubble. The head comes a cycle behind the header's last byte.
module det_header
  import det_pkg::*;
#(
    parameter int unsigned DataW       = 512,
    parameter int unsigned HeaderBytes = 48,
    parameter int unsigned PacketBytes = 8192,  // of pixels
    parameter int unsigned Packets     = 128,   // of a module's frame
    parameter int unsigned Modules     = 8,     // at most

    // Fields: field_t, {offset, width, big}. The defaults are a JUNGFRAU's (docs/reference/jungfrau_packets.md)
    parameter logic [31:0]      FrameField    = {16'd0, 8'd8, 8'd0},
    parameter logic [31:0]      PacketField   = {16'd12, 8'd4, 8'd0},
    parameter int unsigned      FirstPacket   = 0,
    parameter logic [31:0]      ModuleField   = '0,                  // 0: ports tell
    parameter int unsigned      FirstModule   = 0,
    parameter logic [31:0]      BunchField    = {16'd16, 8'd8, 8'd0},
    parameter logic [31:0]      TimeField     = {16'd24, 8'd8, 8'd0},
    parameter logic [3:0][31:0] ConstantField = {64'd0, {16'd46, 8'd1, 8'd0}, {16'd47, 8'd1, 8'd0}},
    parameter logic [3:0][31:0] ConstantValue = {64'd0, 32'd3, 32'd2},
    parameter logic [3:0][31:0] IdentityField = {32'd0, {16'd36, 16'h200}, {16'd34, 16'h200}, {16'd32, 16'h200}},
    parameter bit               Swapped       = 1'b0,                // pixels are big-endian
    parameter bit               GainCode      = 1'b1,                // words of gain code 10 would read as holes

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic       armed_i,     // else all is dropped
    input logic       two_ports_i, // a module sends each half of its packets to a port of its own
    input logic [7:0] modules_i,   // that there are
    input logic       room_i,      // for a packet more, and its head

    // UDP payloads, of a source that cannot wait
    input logic      [DataW-1:0] s_axis_tdata,
    input logic      [KeepW-1:0] s_axis_tkeep,
    input logic                  s_axis_tlast,
    input datagram_t             s_axis_tuser,
    input logic                  s_axis_tvalid,
    input logic                  bad_i,         // with tlast

    // Heads and pixels of packets that are passed on, in the same order
    output head_t             head_o,
    output logic              head_valid_o,   // pulse
    output logic  [DataW-1:0] m_axis_tdata,
    output logic  [KeepW-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic              m_axis_tuser,   // with tlast: the packet was not whole
    output logic              m_axis_tvalid,

    output det_fate_e fate_o,        // of a packet that is not passed on
    output logic      fate_valid_o   // pulse
);

  localparam int unsigned LAST = (HeaderBytes - 1) / KeepW;  // the beat in which the header ends
  localparam int unsigned BEAT_W = $clog2(LAST + 2);
  localparam int unsigned BEATS = PacketBytes / KeepW;
  localparam int unsigned COUNT_W = BEATS > 1 ? $clog2(BEATS) : 1;
  localparam int unsigned CONSTANTS = 4;
  localparam int unsigned IDENTITIES = 4;

  if (PacketBytes % KeepW != 0 || PacketBytes == 0) begin : gen_check
    $error("%m: PacketBytes = %0d must be whole beats of %0d bytes", PacketBytes, KeepW);
  end
  if (Packets < 1 || Packets > 256 || Modules < 1 || Modules > 16) begin : gen_check_counts
    $error("%m: Packets = %0d must be 1 to 256, Modules = %0d 1 to 16", Packets, Modules);
  end

  // The header: beats that have come, and the one that is here.
  logic [LAST:0][KeepW-1:0][7:0] header_q;
  logic [(LAST+1)*KeepW-1:0][7:0] bytes;
  logic [BEAT_W-1:0] beat_q;  // stays behind the header
  logic ends, goes_on;

  always_comb begin
    bytes = header_q;
    bytes[LAST*KeepW+:KeepW] = s_axis_tdata;
  end

  always_ff @(posedge clk) begin
    if (s_axis_tvalid) begin
      for (int unsigned b = 0; b <= LAST; b++) if (beat_q == BEAT_W'(b)) header_q[b] <= s_axis_tdata;
      if (s_axis_tlast) beat_q <= '0;
      else if (beat_q != BEAT_W'(LAST + 1)) beat_q <= beat_q + 1'b1;
    end
    if (rst) beat_q <= '0;
  end

  assign ends = s_axis_tvalid && beat_q == BEAT_W'(LAST);
  assign goes_on = !s_axis_tlast || (HeaderBytes % KeepW != 0 && s_axis_tkeep[HeaderBytes%KeepW]);

  function automatic logic [63:0] number(input logic [31:0] field, input logic [(LAST+1)*KeepW-1:0][7:0] from);
    field_t f;
    f = field;
    number = '0;
    for (int unsigned k = 0; k < 8; k++) begin
      if (k < 32'(f.width)) number[8*k+:8] = from[f.big[0] ? 32'(f.offset) + 32'(f.width) - 1 - k : 32'(f.offset)+k];
    end
  endfunction

  // One answer a question.
  typedef struct packed {
    logic                 size;
    logic [CONSTANTS-1:0] constants;
    logic                 packet;
    logic                 module_number;
  } right_t;

  function automatic logic [63:0] identity(input logic [(LAST+1)*KeepW-1:0][7:0] from);
    identity = '0;
    for (int unsigned k = 0; k < IDENTITIES; k++) begin
      identity = identity << (8 * IdentityField[k][15:8]) | number(IdentityField[k], from);
    end
  endfunction

  head_t head, head_q;
  right_t right, right_q;
  logic short_q, look_q;
  logic [63:0] packet, of_module;
  logic [15:0] of_port;

  always_comb begin
    packet = number(PacketField, bytes) - 64'(FirstPacket);
    of_module = number(ModuleField, bytes) - 64'(FirstModule);
    if (ModuleField == '0) of_module = two_ports_i ? 64'(s_axis_tuser.stream[7:1]) : 64'(s_axis_tuser.stream);
    of_port = two_ports_i ? 16'(Packets / 2) : 16'(Packets);
    head.port = two_ports_i && s_axis_tuser.stream[0];
    head.packet = packet[15:0] + (head.port ? 16'(Packets / 2) : '0);
    head.module_number = of_module[7:0];
    head.number = number(FrameField, bytes);
    head.timestamp = number(TimeField, bytes);
    head.bunch_id = number(BunchField, bytes);
    head.identity = identity(bytes);

    right.size = s_axis_tuser.bytes == 16'(HeaderBytes + PacketBytes);
    for (int unsigned k = 0; k < CONSTANTS; k++) begin
      right.constants[k] = number(ConstantField[k], bytes) == 64'(ConstantValue[k]);
    end
    right.packet = packet < 64'(of_port);
    right.module_number = of_module < 64'(modules_i) && of_module < 64'(Modules);
  end

  always_ff @(posedge clk) begin
    head_q  <= head;
    right_q <= right;
    look_q  <= ends && goes_on;
    short_q <= s_axis_tvalid && s_axis_tlast && beat_q != BEAT_W'(LAST + 1) && !(ends && goes_on);
    if (rst) begin
      look_q  <= 1'b0;
      short_q <= 1'b0;
    end
  end

  det_fate_e fate;

  always_comb begin
    fate = FATE_PLACED;
    if (!right_q.size) fate = FATE_SIZE;
    else if (right_q.constants != '1) fate = FATE_CONSTANT;
    else if (!right_q.packet) fate = FATE_PACKET;
    else if (!right_q.module_number) fate = FATE_MODULE;
    else if (!room_i) fate = FATE_FULL;
  end

  assign head_o = head_q;
  assign head_valid_o = look_q && armed_i && right_q == '1 && room_i;

  always_ff @(posedge clk) begin
    fate_o <= short_q ? FATE_SIZE : fate;
    fate_valid_o <= armed_i && (short_q || (look_q && !head_valid_o));
    if (rst) fate_valid_o <= 1'b0;
  end

  // The pixels, a cycle behind what is known of them.
  logic passes_q, passes2_q;
  logic [DataW-1:0] behind_tdata;
  logic [KeepW-1:0] behind_tkeep;
  logic behind_tlast, behind_tuser, behind_tvalid;

  always_ff @(posedge clk) begin
    if (look_q) passes_q <= head_valid_o;
    passes2_q <= passes_q;
    if (rst) passes_q <= 1'b0;
  end

  axis_behead #(
      .DataW(DataW),
      .Bytes(HeaderBytes)
  ) u_behead (
      .clk,
      .rst,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (bad_i),
      .s_axis_tvalid,
      .more_i       (1'b0),
      .m_axis_tdata (behind_tdata),
      .m_axis_tkeep (behind_tkeep),
      .m_axis_tlast (behind_tlast),
      .m_axis_tuser (behind_tuser),
      .m_axis_tvalid(behind_tvalid)
  );

  // So many beats and no more; one that ends before, or goes on, is not whole.
  logic [COUNT_W-1:0] count_q;
  logic at_end, over_q;

  assign at_end = count_q == COUNT_W'(BEATS - 1);

  always_ff @(posedge clk) begin
    if (behind_tvalid) begin
      count_q <= behind_tlast ? '0 : at_end ? count_q : count_q + 1'b1;
      over_q  <= !behind_tlast && (over_q || at_end);
    end
    m_axis_tkeep  <= behind_tkeep;
    m_axis_tlast  <= behind_tlast || at_end;
    m_axis_tuser  <= behind_tlast ? behind_tuser || !at_end || !behind_tkeep[KeepW-1] : at_end;
    m_axis_tvalid <= behind_tvalid && passes2_q && !over_q;
    if (rst) begin
      count_q <= '0;
      over_q <= 1'b0;
      m_axis_tvalid <= 1'b0;
    end
  end

  // A word that would read as a hole becomes another one.
  function automatic logic [15:0] guarded(input logic [15:0] word);
    if (GainCode) guarded = word[15:14] == 2'b10 ? 16'hffff : word;
    else guarded = word == 16'h8000 ? 16'h8001 : word;
  endfunction

  always_ff @(posedge clk) begin
    for (int unsigned w = 0; w < KeepW / 2; w++) begin
      m_axis_tdata[16*w+:16] <= guarded(
          Swapped ? {behind_tdata[16*w+:8], behind_tdata[16*w+8+:8]} : behind_tdata[16*w+:16]
      );
    end
  end

  logic unused;
  assign unused = ^{packet, of_module, header_q};

endmodule
